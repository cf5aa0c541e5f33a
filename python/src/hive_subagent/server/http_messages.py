"""Checks of a message by HTTP and JSON-RPC before the MCP server gets it; cancellation, streams.

The servers are stateless: each request has a server task of its own, which never hears of a
`notifications/cancelled` that comes with another request.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from typing import Any, TypeGuard

import anyio
from mcp.types import INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import from_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"

REQUEST_CANCELLED = -32800
"""The code with which the MCP library, too, answers a cancelled request."""


class PostOnly:
    """Answers 405 to anything but POST: a stateless server has no stream to open or to end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST":
            said = "only POST is served here\n"
            await PlainTextResponse(said, 405, {"Allow": "POST"})(scope, receive, send)
            return
        await self._app(scope, receive, send)


class _Answer:
    """Passes on what an app sends, and knows how far its answer has come."""

    def __init__(self, send: Send) -> None:
        self.begun = False
        self.ended = False
        self._send = send

    async def __call__(self, message: Message) -> None:
        self.begun = self.begun or message["type"] == "http.response.start"
        self.ended = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)


class Streams:
    """The streams on which a client hears of changed tools: idle for as long as the daemon runs.

    Each is a request under way, for which a server that stops would wait in vain.
    """

    METHOD = "subscriptions/listen"

    def __init__(self) -> None:
        self._open: set[anyio.CancelScope] = set()
        self._closed = False

    def close(self) -> None:
        """End all of them, and whatever is opened from now on."""
        self._closed = True
        for stream in self._open:
            stream.cancel()

    async def serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one, until the client hangs up or `close`; its response ends as it should."""
        answer = _Answer(send)
        with anyio.CancelScope() as stream:
            self._open.add(stream)
            try:
                if not self._closed:
                    await app(scope, receive, answer)
                    return
            finally:
                self._open.discard(stream)
        if not answer.begun:
            await PlainTextResponse("the daemon is stopping\n", 503)(scope, receive, send)
        elif not answer.ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class Messages:
    """Checks the id of a message, and ends a request that its caller cancels.

    Needs the body in `state["body"]`. Ids are only unique within a client, so `initialize` hands
    out a session id that distinguishes clients; it is required nowhere, and one of an
    earlier daemon serves as well. A client without one can cancel where no other such client has
    a request of that id under way.
    """

    def __init__(self, app: ASGIApp, streams: Streams) -> None:
        self._app = app
        self._streams = streams
        self._under_way: dict[tuple[str, str | int], list[anyio.CancelScope]] = defaultdict(list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        message = _parse(scope["state"].pop("body"))
        if message is None:
            # in the server's own words
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        session, version = headers.get(SESSION, ""), headers.get(VERSION)
        method, request_id = message.get("method"), message.get("id")
        if "id" in message and method is not None and not _is_id(request_id):
            await _invalid_id()(scope, receive, send)
        elif method == Streams.METHOD:
            scope["state"].get("let_others", _nothing)()
            await self._streams.serve(self._app, scope, receive, send)
        elif version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            # since 2026-07-28 a caller cancels by hanging up, and there are no sessions
            await self._app(scope, receive, send)
        elif request_id is not None and method == "initialize":
            await self._app(scope, receive, _with_session(send))
        elif _is_id(request_id) and method is not None:
            await self._cancellable((session, request_id), scope, receive, send)
        elif method == "notifications/cancelled":
            self._cancel(session, message.get("params"))
            await Response(status_code=202)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _cancellable(
        self, key: tuple[str, str | int], scope: Scope, receive: Receive, send: Send
    ) -> None:
        sent = _Answer(send)
        with anyio.CancelScope() as cancellation:
            self._under_way[key].append(cancellation)
            try:
                await self._app(scope, receive, sent)
            finally:
                self._under_way[key].remove(cancellation)
                if not self._under_way[key]:
                    del self._under_way[key]
        if not cancellation.cancelled_caught or sent.ended:
            return
        error = {"code": REQUEST_CANCELLED, "message": "Request cancelled"}
        answer = {"jsonrpc": "2.0", "id": key[1], "error": error}
        if sent.begun:
            event = f"event: message\r\ndata: {json.dumps(answer)}\r\n\r\n".encode()
            await send({"type": "http.response.body", "body": event, "more_body": False})
        else:
            await JSONResponse(answer)(scope, receive, send)

    def _cancel(self, session: str, params: object) -> None:
        request_id = params.get("requestId") if isinstance(params, dict) else None
        if not _is_id(request_id):
            return
        meant = self._under_way.get((session, request_id), [])
        if len(meant) == 1:
            meant[0].cancel()


def _nothing() -> None:
    """For a caller whose requests do not wait for each other."""


def _parse(body: bytes) -> dict[str, Any] | None:
    try:
        message = from_json(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _is_id(value: object) -> TypeGuard[str | int]:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _invalid_id() -> JSONResponse:
    error = {"code": INVALID_REQUEST, "message": "id must be a string or an integer"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)


def _with_session(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            MutableHeaders(raw=message["headers"])[SESSION] = str(uuid.uuid4())
        await send(message)

    return sending
