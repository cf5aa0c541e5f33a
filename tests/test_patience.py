"""Callers that take their time."""

from __future__ import annotations

import gc
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
from support.processes import until

from hive_subagent import patience
from hive_subagent.patience import BoundedBodies, ImpatientProtocol

BOUND_S = 20.0


async def _echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(await request.body())


async def _slow(request: Request) -> PlainTextResponse:
    await anyio.sleep(3 * patience.HEADER_S)
    return PlainTextResponse("at last")


def _app() -> ASGIApp:
    routes = [Route("/", _echo, methods=["POST"]), Route("/slow", _slow)]
    return BoundedBodies(Starlette(routes=routes))


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


async def trickle(stream: SocketStream) -> None:
    while True:
        await stream.send(b"x")
        await anyio.sleep(0.02)


async def test_a_connection_that_says_nothing_is_closed(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        assert await everything(stream) == b""


async def test_a_header_that_never_ends_is_not_waited_for(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        assert await everything(stream) == b""


async def test_a_second_header_that_never_ends_is_not_waited_for_either(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHo")
        assert (await everything(stream)).startswith(b"HTTP/1.1 405")


async def test_a_body_that_trickles_on_after_the_answer_is_not_waited_for(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        assert (await stream.receive()).startswith(b"HTTP/1.1 405")
        with anyio.fail_after(BOUND_S), pytest.raises(anyio.BrokenResourceError):
            await trickle(stream)


async def test_a_request_that_takes_its_time_is_not_cut(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await everything(stream)).endswith(b"at last")


async def test_a_connection_that_is_over_is_not_kept_in_memory(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R26: a timer for each of ten thousand would hold them all."""
    monkeypatch.setattr(patience, "HEADER_S", 3600)
    async with await anyio.connect_tcp("127.0.0.1", port):
        await until(lambda: connections() == 1)
    await until(lambda: connections() == 0)


def connections() -> int:
    gc.collect()
    return sum(isinstance(each, ImpatientProtocol) for each in gc.get_objects())


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
