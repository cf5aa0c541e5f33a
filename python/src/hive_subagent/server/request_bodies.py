"""Bodies of requests: read whole before anything else happens, bounded in size, time and shape."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_S = 30.0
"""Seconds from a request's header to the end of its body."""

DEPTH = 32
"""Levels that a subagent's JSON may be nested."""

NODES = 2_000
"""Values that a subagent's JSON may have; each takes a hundred times its size once parsed."""

OPEN = 8
"""Requests of one token that may be open at once; claude sends up to four."""

SMALL = 64 * 1024
"""Bytes of a body that is parsed without a look at the memory that is left."""

PARSED = 8
"""Times its size that a body may take while it is parsed and handed on."""


Refuse = Callable[[str, int], ASGIApp]
"""Makes the answer to a request that is refused, from a sentence and a status."""


def _plain(said: str, status: int) -> ASGIApp:
    return PlainTextResponse(f"{said}\n", status)


class WholeBodies:
    """Hands a request on once its body is there, in one piece and as `state["body"]`.

    Answers 413 to one over `limit` bytes and 408 to one that does not arrive in time. A caller
    that hangs up before the end gets no answer, and the app never hears of it.
    """

    def __init__(self, app: ASGIApp, *, limit: int, refuse: Refuse = _plain) -> None:
        self._app = app
        self._limit = limit
        self._too_large = refuse("the request's body is too large", 413)
        self._too_late = refuse("the request's body did not arrive in time", 408)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await self._read(scope, receive, send)
        if body is None:
            return
        scope["state"] = {**scope.get("state", {}), "body": body}
        given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        del body

        async def replay() -> Message:
            return given.pop() if given else await receive()

        await self._app(scope, replay, send)

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> bytes | None:
        """The whole body; None where the request has been answered, or its caller is gone."""
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > self._limit:
            await self._too_large(scope, receive, send)
            return None
        pieces: list[bytes] = []
        size, more = 0, True
        with anyio.move_on_after(BODY_S):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                piece = message.get("body", b"")
                pieces.append(piece)
                size += len(piece)
                if size > self._limit:
                    await self._too_large(scope, receive, send)
                    return None
                more = bool(message.get("more_body"))
            body = b"".join(pieces)
            _check_memory(len(body))
            return body
        await self._too_late(scope, receive, send)
        return None


@dataclass
class _Turns:
    """The open requests of one token."""

    open: int = 0
    lock: anyio.Lock = field(default_factory=anyio.Lock)


class OneAtATime:
    """Serves a subagent's requests one after the other, each of bounded size and shape.

    Nothing is parsed before that. A stream, which stays open, calls `state["let_others"]` and holds
    up nobody: claude asks for its tools while it listens for changes of them. Answers 429 where a
    token has `OPEN` requests open already, and 400 to JSON that is nested too deep or has too many
    values. Bodies that never end hold up nobody, their own token's other requests included.
    """

    def __init__(self, app: ASGIApp, *, limit: int) -> None:
        self._app = app
        self._whole = WholeBodies(self._in_turn, limit=limit)
        self._turns: dict[str, _Turns] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token = scope["path_params"]["token"]
        turns = self._turns.setdefault(token, _Turns())
        if turns.open >= OPEN:
            refusal = PlainTextResponse("too many requests at once; wait for their answers\n", 429)
            await refusal(scope, receive, send)
            return
        turns.open += 1
        try:
            await self._whole(scope, receive, send)
        finally:
            turns.open -= 1
            if not turns.open:
                del self._turns[token]

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_shallow(scope["state"]["body"], depth=DEPTH, nodes=NODES):
            said = "the request's JSON is nested too deep or has too many values\n"
            await PlainTextResponse(said, 400)(scope, receive, send)
            return
        lock = self._turns[scope["path_params"]["token"]].lock
        held = True

        def let_others() -> None:
            nonlocal held
            if held:
                held = False
                lock.release()

        scope["state"]["let_others"] = let_others
        await lock.acquire()
        try:
            await self._app(scope, receive, send)
        finally:
            let_others()


# possessive, and a string without an end counts as one: the time stays linear in the size
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+\\?(?:"|\Z)|[\[{\]},]', re.DOTALL)


def is_shallow(body: bytes, *, depth: int, nodes: int) -> bool:
    """Whether JSON stays within so many levels and values, found without parsing it."""
    level = count = 0
    for token in _TOKENS.finditer(body):
        first = body[token.start() : token.start() + 1]
        if first == b'"':
            continue
        if first in b"[{":
            level += 1
        elif first in b"]}":
            level -= 1
        # a value begins behind each bracket and each comma
        count += first in b"[{,"
        if level > depth or count > nodes:
            return False
    return True


def _check_memory(size: int) -> None:
    """Raise MemoryError where a body of `size` bytes could not be parsed.

    The native parser behind the MCP server does not raise it on Python 3.14: the process crashes.
    """
    if size < SMALL:
        return
    try:
        mmap.mmap(-1, PARSED * size).close()  # reserves addresses only, no memory is touched
    except OSError:
        raise MemoryError(f"no memory to parse a body of {size} bytes") from None
