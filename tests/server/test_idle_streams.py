"""Clients that go away, and streams on which nothing happens, when the daemon stops."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
from collections.abc import Iterator
from urllib.parse import urlsplit

import anyio
import pytest
from starlette.requests import ClientDisconnect
from support import rpc
from support.daemon import Daemon
from support.processes import until
from support.streams import listen
from support.stub import HANG, script

from hive_subagent.system.logs import ClientsGone


@pytest.fixture
def connection(world: Daemon) -> Iterator[http.client.HTTPConnection]:
    world.start()
    place = urlsplit(world.url)
    made = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
    yield made
    made.close()


def test_the_idle_stream_of_an_owner_is_ended_first(
    world: Daemon, connection: http.client.HTTPConnection
) -> None:
    """Issue 9, 26: it cost three seconds and a trace of 60 lines, and was cut off."""
    stream = listen(connection)
    assert world.stop() == 0
    stream.read()  # raises IncompleteRead for a stream that is cut off
    assert "Traceback" not in world.log
    assert "ERROR" not in world.log


async def test_an_owner_that_hangs_up_in_a_call_or_a_stream_is_not_logged(
    world: Daemon, connection: http.client.HTTPConnection
) -> None:
    """Issue 9, 26."""
    name = await world.begin(script(HANG))
    listen(connection)
    connection.close()
    connection.request("POST", "/mcp", rpc.body_of("wait", {"names": [name]}), rpc.HEADERS)
    await world.must("status")
    connection.close()
    connection.request("POST", "/mcp", b"{", {**rpc.HEADERS, "Content-Length": "1000"})
    connection.close()
    await until(lambda: json.loads(rpc.request(f"{world.url}/healthz").body)["running"] == 1)
    await world.must("interrupt", name=name)
    assert world.stop() == 0
    assert "Traceback" not in world.log


GONE: list[BaseException] = [
    asyncio.CancelledError("timeout graceful shutdown exceeded"),
    ConnectionResetError(),
    BrokenPipeError(),
    ClientDisconnect(),
    anyio.ClosedResourceError(),
    ExceptionGroup("x", [anyio.BrokenResourceError(), ExceptionGroup("y", [ClientDisconnect()])]),
]


def record(name: str, error: BaseException) -> logging.LogRecord:
    return logging.LogRecord(
        name,
        logging.ERROR,
        "",
        1,
        "Exception in ASGI application\n",
        (),
        (type(error), error, None),
    )


@pytest.mark.parametrize("error", GONE, ids=repr)
def test_a_trace_of_a_client_that_went_away_is_left_out(error: BaseException) -> None:
    """Issue 9, 26."""
    assert not ClientsGone().filter(record("uvicorn.error", error))
    assert ClientsGone().filter(record("hive_subagent.sessions", error))


def test_a_trace_of_an_error_stays() -> None:
    """Issue 9, 26."""
    mixed = ExceptionGroup("x", [ClientDisconnect(), ValueError()])
    for error in (ValueError(), mixed):
        assert ClientsGone().filter(record("uvicorn.error", error))
