"""A Messages API on loopback whose model follows scripts, served in the test's own event loop."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from e2e import sse
from e2e.script import Fail, Hang, Say, Step, asks_for_a_title, position, say, text_of

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Call:
    """One request to /v1/messages: its body as sent, and the step that answers it."""

    body: dict[str, Any]
    step: Step
    key: str | None

    @property
    def system(self) -> str:
        """The system prompt, its blocks joined by newlines."""
        given = self.body.get("system") or ""
        return given if isinstance(given, str) else "\n".join(b.get("text", "") for b in given)

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.body.get("tools", [])]

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    @property
    def user_text(self) -> str:
        """The texts of all user messages."""
        return "\n".join(text_of(m) for m in self.messages if m["role"] == "user")


class FakeApi:
    """Scripts go in, calls come out; `url` is what ANTHROPIC_BASE_URL gets."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[Call] = []
        self.keys: set[str] = set()
        """Each `x-api-key` that a call to /v1/messages carried."""
        self.default: Step = say("ok")
        self._scripts: dict[str, list[Step]] = {}
        self._failed: dict[tuple[str | None, int], int] = {}
        self._keys = (f"s{n}" for n in count(1))
        self._changed = anyio.Event()
        self._closing = anyio.Event()

    def script(self, *steps: Step) -> str:
        """Keep a script; the answer is the text that names it in a prompt."""
        key = next(self._keys)
        self._scripts[key] = list(steps)
        return f"[[script {key}]]"

    def of(self, named: str) -> list[Call]:
        """The calls that a script has answered, oldest first."""
        key = named.removeprefix("[[script ").removesuffix("]]")
        return [call for call in self.calls if call.key == key]

    async def until(
        self, condition: Callable[[list[Call]], bool], *, within_s: float = 20.0
    ) -> None:
        """Wait until the calls so far satisfy this; TimeoutError after `within_s`."""
        with anyio.fail_after(within_s):
            while not condition(self.calls):
                await self._changed.wait()

    def close(self) -> None:
        """Let go of every call that hangs."""
        self._closing.set()

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/messages/count_tokens", _count_tokens, methods=["POST"]),
                Route("/{rest:path}", _nothing, methods=["GET", "POST", "PUT", "HEAD"]),
            ]
        )

    async def _messages(self, request: Request) -> Response:
        self.keys.add(request.headers.get("x-api-key", ""))
        call = self._take(json.loads(await request.body()))
        step = call.step
        if isinstance(step, Hang) and not step.in_stream:
            await self._hold(request, self._closing)
            return Response(status_code=503)
        if isinstance(step, Fail):
            return _error(step)
        if isinstance(step, Say) and step.after is not None:
            await self._hold(request, step.after)
        answer = step if isinstance(step, Say) else say("")
        whole = sse.message(call.body.get("model", ""), answer)
        if not call.body.get("stream"):
            return JSONResponse(whole)
        return StreamingResponse(self._stream(whole, step), media_type="text/event-stream")

    def _take(self, body: dict[str, Any]) -> Call:
        if asks_for_a_title(body["messages"]):
            # it quotes the prompt, the name of its script too, and is no step of that
            return Call(body, say("A title"), None)
        key, answered = position(body["messages"])
        steps = [self.default] if key is None else self._scripts[key]
        at = 0 if key is None else answered
        step: Step = steps[at] if at < len(steps) else say("done")
        if isinstance(step, Fail) and step.times is not None:
            failed = self._failed.get((key, at), 0)
            self._failed[key, at] = failed + 1
            if failed >= step.times:
                step = say("recovered")
        call = Call(body, step, key)
        self.calls.append(call)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        return call

    async def _hold(self, request: Request, event: anyio.Event) -> None:
        """Until the event, the server's end, or the client's departure."""
        async with anyio.create_task_group() as group:

            async def leave_after(wait: Callable[[], Any]) -> None:
                await wait()
                group.cancel_scope.cancel()

            async def hangup() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass

            for wait in (event.wait, self._closing.wait, hangup):
                group.start_soon(leave_after, wait)

    async def _stream(self, whole: dict[str, Any], step: Step) -> AsyncIterator[bytes]:
        yield sse.opening(whole)
        if isinstance(step, Hang):
            await self._closing.wait()
            return
        assert isinstance(step, Say)
        events = list(sse.deltas(whole, step.chunks))
        for number, event in enumerate(events):
            if step.cut and number > len(events) // 2:
                raise ConnectionResetError("cut by the script")
            yield event
            if step.interval_s:
                await anyio.sleep(step.interval_s)  # the pace of a slow model, not a test's wait
        yield sse.closing(whole)


@contextlib.asynccontextmanager
async def serve() -> AsyncIterator[FakeApi]:
    """A fake API on a free port of 127.0.0.1, closed with everything that hangs on it."""
    api = FakeApi()
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    api.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        api.app(),
        lifespan="off",
        log_level="critical",
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    server = Server(config)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: server.serve(sockets=[listener]))
        try:
            yield api
        finally:
            api.close()
            server.should_exit = True


class Server(uvicorn.Server):
    """One that leaves signals to the test runner."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _error(step: Fail) -> Response:
    kind = ERROR_TYPES.get(step.status, "api_error")
    body = {"type": "error", "error": {"type": kind, "message": step.message}}
    return JSONResponse(body, status_code=step.status, headers=step.headers)


async def _count_tokens(request: Request) -> Response:
    return JSONResponse({"input_tokens": max(1, len(await request.body()) // 4)})


async def _nothing(_: Request) -> Response:
    return JSONResponse({})
