"""Requests that are too large, too deep, too strange, or two in one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support import rpc
from support.daemon import Daemon
from support.stub import script

from security.rude import OWNER, Load, connect, head, raw, statuses

MIB = 1024 * 1024
STATUS = rpc.body_of("status", {})
CHUNK = b"100000\r\n" + b"x" * MIB + b"\r\n"


def pieces(size: int) -> Iterator[bytes]:
    for _ in range(size // MIB):
        yield b"x" * MIB


@pytest.mark.parametrize("size", [4, 40])
@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("path", ["/mcp", "/signal/unknown/mcp", "/healthz", "/nowhere"])
def test_a_large_body_of_a_stranger_is_not_even_read(
    guarded: Daemon, path: str, framing: str, size: int
) -> None:
    before = Load.of(guarded).memory
    how = {"Content_Length": str(size * MIB)}
    if framing == "chunked":
        how = {"Transfer_Encoding": "chunked"}
    with connect(guarded) as connection:
        connection.sendall(head(guarded, f"POST {path}", **how))
        got = connection.recv(65536)
        assert statuses(got) in ([401], [404], [405]), "before anything of the body was sent"
        try:
            for piece in pieces(size * MIB):
                connection.sendall(piece if framing == "length" else CHUNK)
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert Load.of(guarded).memory - before < 4 * MIB


def test_a_large_body_of_the_owner_is_refused_by_its_size(guarded: Daemon) -> None:
    asked = head(guarded, "POST /mcp", Content_Length=str(40 * MIB), **OWNER, **rpc.HEADERS)
    before = Load.of(guarded).memory
    with connect(guarded) as connection:
        connection.sendall(asked)
        assert statuses(connection.recv(65536)) == [413]
    assert Load.of(guarded).memory - before < 4 * MIB


async def test_a_prompt_and_a_brief_of_four_mebibytes_are_taken(guarded: Daemon) -> None:
    """Large is not wrong; the limits are in docs/reference/tools.md."""
    does = script({"echo_brief": True})
    brief = does + "b" * (4 * MIB - len(does))
    name = await guarded.begin(brief)
    assert (await guarded.ended(name))["state"] == "idle"
    await guarded.must("continue", name=name, prompt="p" * 4 * MIB)
    assert (await guarded.ended(name))["state"] == "idle"
    assert "over 4194304 bytes" in await guarded.refused(
        "start", name=guarded.name(), prompt_file=guarded.brief(brief + "b")
    )
    assert "over 9437184 bytes" in await guarded.refused(
        "continue", name=name, prompt="p" * (9 * MIB + 1)
    )


def with_body(daemon: Daemon, body: bytes, *fields: bytes) -> bytes:
    lines = [b"POST /mcp HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close", *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


INNER = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ([b"Content-Length: 4", b"Content-Length: 5"], b"0\r\n\r\n"),
        ([b"Content-Length: +4"], b"abcd"),
        ([b"Content-Length: -1"], b""),
        ([b"Content-Length: 4, 5"], b"abcd"),
        ([b"Transfer-Encoding: xchunked"], b"0\r\n\r\n"),
        ([b"Transfer-Encoding: chunked, identity"], b"0\r\n\r\n"),
        ([b"Transfer-Encoding : chunked"], b"0\r\n\r\n"),
        ([b"Content Length: 4"], b"abcd"),
        ([b"X: a\x00b"], b""),
        ([b"X: a\rGET / HTTP/1.1"], b""),
    ],
)
def test_an_ambiguous_request_is_refused_and_ends_the_connection(
    guarded: Daemon, fields: list[bytes], body: bytes
) -> None:
    assert statuses(raw(guarded, with_body(guarded, body + INNER, *fields))) == [400]


@pytest.mark.parametrize("length", [b"0", b"4", b"1000"])
def test_a_length_beside_chunks_hides_no_second_request(guarded: Daemon, length: bytes) -> None:
    fields = [b"Content-Length: " + length, b"Transfer-Encoding: chunked"]
    answer = raw(guarded, with_body(guarded, b"0\r\n\r\n" + INNER, *fields))
    assert statuses(answer) == [401]


@pytest.mark.parametrize("size", [100_000, 2_000_000])
def test_a_huge_header_is_bounded(guarded: Daemon, size: int) -> None:
    before = Load.of(guarded).memory
    for field in ({"X": "a" * size}, {f"X{n}": "a" for n in range(size // 10)}):
        answer = raw(guarded, head(guarded, "GET /mcp", **field))
        assert statuses(answer) in ([], [400], [401])
    assert Load.of(guarded).memory - before < 4 * MIB


def test_an_upgrade_is_not_followed(guarded: Daemon) -> None:
    fields = {
        "Connection": "Upgrade, close",
        "Upgrade": "websocket",
        "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec_WebSocket_Version": "13",
    }
    assert statuses(raw(guarded, head(guarded, "GET /mcp", **fields))) == [401]


ABSURD = {
    "nothing": b"",
    "null": b"null",
    "a list": b"[" + STATUS + b"]",
    "two": STATUS + STATUS,
    "not UTF-8": STATUS.replace(b"status", b"stat\xff\xfes"),
    "UTF-16": STATUS.decode().encode("utf-16"),
    "deep": STATUS.replace(b"{}", b'{"name":' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
    "deep objects": STATUS.replace(b"{}", b'{"name":' * 100_000 + b"1" + b"}" * 100_000),
    "a long number": STATUS.replace(b'"id": 1', b'"id": ' + b"9" * 100_000),
    "half a pair": STATUS.replace(b"{}", b'{"name": "\\ud800"}'),
    "half a pair as a key": STATUS.replace(b"{}", b'{"\\udfff": 1}'),
    "a list for arguments": STATUS.replace(b"{}", b"[1]"),
    "a text for arguments": STATUS.replace(b"{}", b'"x"'),
    "no method": b'{"jsonrpc": "2.0", "id": 1}',
    "a strange method": b'{"jsonrpc": "2.0", "id": 1, "method": "../../x", "params": {}}',
    "a strange tool": STATUS.replace(b'"status"', b'"../../status"'),
    "a strange version": STATUS.replace(b'"2.0"', b'"1.0"'),
    "an answer": b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
    "1e999": rpc.body_of("wait", {"timeout_s": 1}).replace(b": 1}", b": 1e999}"),
    "NaN": rpc.body_of("wait", {"timeout_s": 1}).replace(b": 1}", b": NaN}"),
    "-0.0001": rpc.body_of("wait", {"timeout_s": -0.0001}),
    "a huge number of turns": rpc.body_of(
        "start", {"name": "a", "prompt_file": "/etc/hostname", "goal": "g", "max_turns": 10**400}
    ),
    "no name at all": rpc.body_of("interrupt", {"name": ""}),
    "a key twice": STATUS.replace(b"{}", b'{"name": "known", "name": "../x"}'),
}


@pytest.mark.parametrize("body", ABSURD.values(), ids=ABSURD)
def test_an_absurd_body_is_refused_with_a_text_and_nothing_breaks(
    guarded: Daemon, body: bytes
) -> None:
    before = Load.of(guarded).log
    reply = rpc.request(f"{guarded.url}/mcp", "POST", body, {**rpc.HEADERS, **OWNER})
    told = reply.body.rpartition(b"data: ")[2]
    if reply.status == 200:
        message = json.loads(told)
        assert "error" in message or message["result"]["isError"], message
        assert b"Error executing tool" not in told
    else:
        assert reply.status in (202, 400), reply
    assert len(told) < 10_000
    assert Load.of(guarded).log == before
