"""Callers that take their time."""

from __future__ import annotations

import contextlib
import gc
import socket
from collections.abc import AsyncIterator

import anyio
import pytest
import uvicorn
from anyio.abc import SocketStream
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp
from support.processes import until

from hive_subagent.server import request_bodies, timeouts
from hive_subagent.server.request_bodies import WholeBodies
from hive_subagent.server.timeouts import TimedProtocol

BOUND_S = 20.0
MUCH = 20 * 1024 * 1024  # more than the system keeps for a caller who does not read


async def _echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(await request.body())


async def _slow(request: Request) -> PlainTextResponse:
    await anyio.sleep(3 * timeouts.HEADER_S)
    return PlainTextResponse("at last")


async def _much(request: Request) -> PlainTextResponse:
    return PlainTextResponse("x" * MUCH)


def _app() -> ASGIApp:
    whole = [Middleware(WholeBodies, limit=100_000)]
    routes = [
        Route("/", _echo, methods=["POST"], middleware=whole),
        Route("/slow", _slow),
        Route("/much", _much),
    ]
    return Starlette(routes=routes)


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(timeouts, "HEADER_S", 0.2)
    monkeypatch.setattr(timeouts, "WRITE_S", 0.2)
    monkeypatch.setattr(request_bodies, "BODY_S", 0.2)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(_app(), http=TimedProtocol, log_config=None, lifespan="off")
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
    monkeypatch.setattr(timeouts, "HEADER_S", 3600)
    async with await anyio.connect_tcp("127.0.0.1", port):
        await until(lambda: connections() == 1)
    await until(lambda: connections() == 0)


def connections() -> int:
    gc.collect()
    return sum(isinstance(each, TimedProtocol) for each in gc.get_objects())


async def test_a_body_that_never_ends_is_answered_with_a_text(port: int) -> None:
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


MUCH_PLEASE = b"GET /much HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "asked",
    [
        MUCH_PLEASE * 5,
        MUCH_PLEASE.replace(b"x\r\n", b"x\r\nConnection: close\r\n"),
    ],
    ids=["pipelined", "one"],
)
async def test_a_caller_that_asks_and_never_reads_is_hung_up_on(port: int, asked: bytes) -> None:
    """Issue 10, 12: neither the answer's end nor a closing that waits for the caller holds it."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(asked)
        await until(lambda: connections() == 1)
        await until(lambda: connections() == 0)


async def test_a_caller_that_reads_in_the_end_gets_everything(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "WRITE_S", 3600)
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(MUCH_PLEASE.replace(b"x\r\n", b"x\r\nConnection: close\r\n"))
        await until(lambda: connections() == 1)
        assert (await everything(stream)).endswith(b"x" * MUCH)


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + framed + b"0\r\n\r\n"


@pytest.mark.parametrize(("size", "status"), [(1, b"400"), (100, b"400"), (1000, b"200")])
async def test_a_body_in_many_small_pieces_is_refused(port: int, size: int, status: bytes) -> None:
    """Issue 10, 10: each piece costs as much of the loop's time as a large one."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(chunked(b"x" * 50_000, size))
        with anyio.fail_after(BOUND_S):
            assert (await stream.receive()).startswith(b"HTTP/1.1 " + status)


async def test_small_pieces_behind_an_answer_end_the_connection(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 10, 10: the refusal has no place any more, and is no error of the server."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        asked = chunked(b"x" * 50_000, 1)
        await stream.send(b"PUT" + asked[4:].partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
        assert (await stream.receive()).startswith(b"HTTP/1.1 405")
        await stream.send(asked.partition(b"\r\n\r\n")[2])
        with contextlib.suppress(anyio.BrokenResourceError):
            assert await everything(stream) == b""
    await until(lambda: connections() == 0)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
