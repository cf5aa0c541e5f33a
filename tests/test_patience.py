"""Callers that take their time."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import anyio
import pytest
import uvicorn
from anyio.abc import SocketStream
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from hive_subagent import patience
from hive_subagent.patience import BoundedBodies, ImpatientProtocol

BOUND_S = 20.0


async def _echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(await request.body())


def _app() -> ASGIApp:
    return BoundedBodies(Starlette(routes=[Route("/", _echo, methods=["POST"])]))


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(patience, "HEADER_S", 0.2)
    monkeypatch.setattr(patience, "BODY_S", 0.2)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(_app(), http=ImpatientProtocol, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [listener])
        yield listener.getsockname()[1]
        server.should_exit = True


async def everything(stream: SocketStream) -> bytes:
    got = b""
    with anyio.fail_after(BOUND_S):
        try:
            while True:
                got += await stream.receive()
        except anyio.EndOfStream:
            return got


async def test_a_connection_that_says_nothing_is_closed(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        assert await everything(stream) == b""


async def test_a_header_that_never_ends_is_not_waited_for(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        assert await everything(stream) == b""


async def test_a_body_that_never_ends_is_answered_in_words(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        with anyio.fail_after(BOUND_S):
            answer = await stream.receive()
        assert answer.startswith(b"HTTP/1.1 408")


async def test_a_whole_request_is_served_whatever_comes_after(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        for _ in range(2):
            await stream.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
            with anyio.fail_after(BOUND_S):
                answer = await stream.receive()
                while not answer.endswith(b"hi"):
                    answer += await stream.receive()
            assert answer.startswith(b"HTTP/1.1 200")
