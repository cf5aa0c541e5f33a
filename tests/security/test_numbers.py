"""Callers in numbers: what they hold is bounded, and given back when they go."""

from __future__ import annotations

import itertools
import socket

import anyio
import anyio.to_thread
import pytest
from support import rpc
from support.daemon import Daemon
from support.processes import until
from support.stub import HANG, script, text

from security.rude import (
    OWNER,
    Load,
    begin,
    connect,
    head,
    many_descriptors,
    raw,
    rest_of,
    statuses,
)

MIB = 1024 * 1024
HALF_OPEN = 500
WAITS = 500
IDLE_DESCRIPTORS = 32  # and those of one run

TORN_HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


def beginnings(daemon: Daemon) -> list[bytes]:
    """What one can say and then be silent."""
    answered = head(daemon, "GET /healthz", Connection="keep-alive")
    unread = head(daemon, "POST /mcp", Connection="keep-alive", Content_Length="1000")
    return [b"", b"P", TORN_HEAD, answered + b"GE", unread + b"half"]


def refusals(daemon: Daemon) -> list[tuple[int, bytes]]:
    """One request for each kind of no."""
    return [
        (421, head(daemon, "GET /mcp", Host="evil.example")),
        (403, head(daemon, "GET /mcp", Origin="http://evil.example")),
        (401, head(daemon, "POST /mcp", Content_Length="0")),
        (401, head(daemon, "POST /mcp", Content_Length="0", Authorization="Bearer wrong")),
        (404, head(daemon, "POST /signal/unknown/mcp", Content_Length="0")),
        (413, head(daemon, "POST /mcp", Content_Length="99999999", **OWNER)),
        (405, head(daemon, "DELETE /mcp", Mcp_Session_Id="0" * 32, **OWNER)),
        (400, b"neither this nor that\r\n\r\n"),
    ]


def storm(daemon: Daemon, count: int) -> None:
    """`count` refused requests, each over a connection of its own."""
    for status, request in itertools.islice(itertools.cycle(refusals(daemon)), count):
        assert statuses(raw(daemon, request)) == [status], request


async def in_thread(daemon: Daemon, count: int) -> None:
    await anyio.to_thread.run_sync(storm, daemon, count)


def is_hung_up(connection: socket.socket) -> bool:
    try:
        while connection.recv(65536):
            pass
    except (ConnectionResetError, BrokenPipeError):
        pass
    return True


def half_open(daemon: Daemon) -> list[socket.socket]:
    half = [connect(daemon) for _ in range(HALF_OPEN)]
    for connection, said in zip(half, itertools.cycle(beginnings(daemon)), strict=False):
        connection.sendall(said)
    return half


async def settled(daemon: Daemon) -> Load:
    """What it holds once no connection is left."""
    await until(lambda: Load.of(daemon).descriptors <= IDLE_DESCRIPTORS, "the descriptors")
    return Load.of(daemon)


def assert_no_more(before: Load, after: Load) -> None:
    assert after.memory - before.memory < 2 * MIB
    assert after.descriptors <= before.descriptors + 2
    assert after.threads <= before.threads + 1


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.chaos)])
async def test_strangers_in_numbers_leave_nothing_while_the_tools_answer(
    guarded: Daemon, count: int
) -> None:
    """R26: half-open connections stand all the while; the daemon hangs up on each."""
    await guarded.run(script(text("done")))
    with many_descriptors():
        # all of it once: a first time takes memory that later ones use again
        half = half_open(guarded)
        await in_thread(guarded, 400)
        for connection in half:
            assert await anyio.to_thread.run_sync(is_hung_up, connection)
            connection.close()
        before = await settled(guarded)
        half = half_open(guarded)
        assert (await guarded.run(script(text("done"))))["result"] == "done"
        quiet = Load.of(guarded).log
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(in_thread, guarded, count)
            for _ in range(20):
                await guarded.must("status")
        assert Load.of(guarded).log == quiet, "a line for each would fill the disk"
        for connection in half:
            assert await anyio.to_thread.run_sync(is_hung_up, connection)
            connection.close()
    assert_no_more(before, await settled(guarded))


def begin_to_wait(daemon: Daemon, name: str) -> socket.socket:
    return begin(daemon, rpc.body_of("wait", {"names": [name], "timeout_s": 3600}))


async def waiting_in_numbers(daemon: Daemon, count: int) -> None:
    """Half of those who wait hang up, the others are answered."""
    name = await daemon.begin(script(HANG))
    waiting = [begin_to_wait(daemon, name) for _ in range(count)]
    await until(lambda: Load.of(daemon).descriptors >= count, "all of them")
    assert (await daemon.must("status", name=name))["state"] == "running"
    for connection in waiting[::2]:
        connection.close()
    half = count // 2 + IDLE_DESCRIPTORS
    await until(lambda: Load.of(daemon).descriptors <= half, "half of them")
    assert (await daemon.must("status", name=name))["state"] == "running"
    await daemon.must("interrupt", name=name, force=True)
    for connection in waiting[1::2]:
        answer = await anyio.to_thread.run_sync(rest_of, connection)
        assert b'"done":true' in answer
        connection.close()


async def test_waits_in_numbers_are_all_answered_and_hang_ups_are_noticed(guarded: Daemon) -> None:
    with many_descriptors():
        await waiting_in_numbers(guarded, WAITS)
        before = await settled(guarded)
        await waiting_in_numbers(guarded, WAITS // 5)
        assert_no_more(before, await settled(guarded))
