"""How long a caller may take: for its header, and for its body."""

from __future__ import annotations

import asyncio

import anyio
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEADER_S = 10.0
"""Seconds from a connection's beginning, or from an answer, to the end of the next header."""

BODY_S = 30.0
"""Seconds from a request's header to the end of its body."""


class ImpatientProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 that hangs up on who is to say something and does not.

    Uvicorn bounds the silence between two requests alone, and any byte ends that: neither what
    comes before the first header's end, nor a second header that stops half-way, nor the rest of
    a body whose request is answered already.
    """

    _bell: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        # a timer keeps what it calls in memory
        self._hush()
        super().connection_lost(exc)

    def _watch(self) -> None:
        # uvicorn declares `cycle` as never None, and begins with None
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._hush()
        elif self._bell is None and not self.transport.is_closing():
            self._bell = self.loop.call_later(HEADER_S, self.transport.close)

    def _hush(self) -> None:
        if self._bell is not None:
            self._bell.cancel()
            self._bell = None


class BoundedBodies:
    """Answers 408 when a body does not arrive in time; nothing waits for it for ever."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        whole = late = False
        deadline = anyio.current_time() + BODY_S

        async def receive_in_time() -> Message:
            nonlocal whole, late
            if whole:
                return await receive()
            with anyio.CancelScope(deadline=deadline):
                message = await receive()
                whole = message["type"] != "http.request" or not message.get("more_body")
                return message
            whole = late = True
            refusal = PlainTextResponse("the request's body did not arrive in time\n", 408)
            await refusal(scope, receive, send)
            return {"type": "http.disconnect"}

        async def send_unless_late(message: Message) -> None:
            if not late:
                await send(message)

        try:
            await self._app(scope, receive_in_time, send_unless_late)
        except Exception:
            if not late:
                raise
