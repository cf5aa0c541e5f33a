"""What one subagent can send on its own route (issue 10, 10)."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import pytest
from support import rpc
from support.daemon import Daemon
from support.processes import until
from support.streams import listen
from support.stub import HANG, script

from hive_subagent.server.app import SIGNAL_LIMIT
from hive_subagent.server.request_bodies import DEPTH, NODES, OPEN
from security.rude import OWNER, Load, connect, head, raw, signal_urls, statuses

MIB = 1024 * 1024


@pytest.fixture
def url(guarded: Daemon) -> Iterator[str]:
    """The address of a running subagent's signals."""
    mcp, name = f"{guarded.url}/mcp", guarded.name()
    given = {"name": name, "prompt_file": guarded.brief(script(HANG)), "goal": "be done"}
    assert not rpc.call(mcp, "start", given, OWNER).is_error
    yield signal_urls(guarded)[-1]
    rpc.call(mcp, "interrupt", {"name": name, "force": True}, OWNER)


def post(daemon: Daemon, url: str, **fields: str) -> bytes:
    return head(daemon, f"POST {urlsplit(url).path}", **{**rpc.HEADERS, **fields})


def message(size: int) -> bytes:
    empty = rpc.body_of("need_help", {"message": ""})
    return rpc.body_of("need_help", {"message": "x" * (size - len(empty))})


def test_a_body_of_64_kib_is_taken_and_one_byte_more_is_not(guarded: Daemon, url: str) -> None:
    answer = rpc.request(url, "POST", message(SIGNAL_LIMIT), rpc.HEADERS)
    assert answer.status == 200
    assert b"Noted" in answer.body
    assert rpc.request(url, "POST", message(SIGNAL_LIMIT + 1), rpc.HEADERS).status == 413


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_large_body_is_refused_before_it_is_there(
    guarded: Daemon, url: str, framing: str
) -> None:
    before = Load.of(guarded).memory
    how = {"Content_Length": str(20 * MIB)}
    if framing == "chunked":
        how = {"Transfer_Encoding": "chunked"}
    with connect(guarded) as connection:
        connection.sendall(post(guarded, url, **how))
        if framing == "chunked":
            connection.sendall(b"20000\r\n" + b"x" * 0x20000 + b"\r\n")
        assert statuses(connection.recv(65536)) == [413]
    assert Load.of(guarded).memory - before < 4 * MIB


@pytest.mark.parametrize(
    "arguments",
    [
        b'{"message": ' + b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1) + b"}",
        b'{"message": [' + b"1," * NODES + b"1]}",
        b"{" + b",".join(b'"%d": 1' % number for number in range(NODES)) + b"}",
        b'{"message": ' + b"[" * 60_000,
    ],
)
def test_json_of_many_values_or_levels_is_never_parsed(
    guarded: Daemon, url: str, arguments: bytes
) -> None:
    body = message(200).partition(b'{"message"')[0] + arguments + b"}}"
    reply = rpc.request(url, "POST", body, rpc.HEADERS)
    assert (reply.status, reply.body[:23]) == (400, b"the request's JSON is n")


async def test_bodies_that_never_end_delay_no_other_request(guarded: Daemon, url: str) -> None:
    """The further ones are refused, and the same token's whole requests are served beside them."""
    before = Load.of(guarded).memory
    with ExitStack() as opened:

        def begin() -> socket.socket:
            connection = opened.enter_context(connect(guarded))
            connection.sendall(post(guarded, url, Content_Length=str(SIGNAL_LIMIT)) + b"{" * 60_000)
            return connection

        for _ in range(OPEN - 1):
            begin()
        answer = await anyio.to_thread.run_sync(
            lambda: rpc.call(url, "need_help", {"message": "now what?"})
        )
        assert not answer.is_error
        begin()
        refused = begin()
        assert statuses(await anyio.to_thread.run_sync(refused.recv, 65536)) == [429]
        assert Load.of(guarded).memory - before < 4 * MIB
        await guarded.must("status")

    def again() -> bool:
        return rpc.request(url, "POST", message(100), rpc.HEADERS).status == 200

    await until(again, "the others' end")


@pytest.mark.parametrize("who", ["subagent", "stranger"])
def test_a_body_in_chunks_of_one_byte_is_refused(guarded: Daemon, url: str, who: str) -> None:
    """Each costs 25 µs of everybody's time."""
    path = urlsplit(url).path if who == "subagent" else "/mcp"
    asked = head(guarded, f"POST {path}", **{**rpc.HEADERS, "Transfer_Encoding": "chunked"})
    assert statuses(raw(guarded, asked + b"1\r\n{\r\n" * 1_000))[0] in (400, 401)


async def test_one_tokens_requests_are_served_one_after_the_other(
    guarded: Daemon, url: str
) -> None:
    """All of claude's at once are few enough to be served."""
    replies: list[int] = []

    def ask(number: int) -> None:
        body = rpc.body_of("need_help", {"message": f"question {number}"})
        replies.append(rpc.request(url, "POST", body, rpc.HEADERS).status)

    async with anyio.create_task_group() as tasks:
        for number in range(OPEN - 4):
            tasks.start_soon(anyio.to_thread.run_sync, ask, number)
    assert replies == [200] * (OPEN - 4)


def test_a_stream_that_stays_open_holds_up_no_other_request(guarded: Daemon, url: str) -> None:
    """Issue 9, 14: claude 2.1.332 listens for changes first, and then never got its tools."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
    with closing(connection):
        listen(connection, place.path)
        assert not rpc.call(url, "need_help", {"message": "now what?"}).is_error


def test_the_owners_own_requests_have_no_such_bounds(guarded: Daemon) -> None:
    deep = b'{"name": ' + b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1) + b"}"
    body = rpc.body_of("status", {}).replace(b"{}", deep)
    reply = rpc.request(f"{guarded.url}/mcp", "POST", body, {**rpc.HEADERS, **OWNER})
    assert reply.status == 200
    assert json.loads(reply.body.rpartition(b"data: ")[2])["result"]["isError"]
