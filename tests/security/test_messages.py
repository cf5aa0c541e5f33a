"""What HTTP and JSON-RPC ask of a request (issue 10, 12)."""

from __future__ import annotations

import json
from typing import Any

import anyio
import anyio.to_thread
import pytest
from support import rpc
from support.daemon import Daemon
from support.processes import until
from support.stub import HANG, script

from security.rude import OWNER, Load, begin, connect, head, raw, rest_of, signal_urls, statuses


def as_json(message: Any) -> bytes:
    return json.dumps(message).encode()


def post(daemon: Daemon, message: Any, **headers: str) -> rpc.Reply:
    body = as_json(message)
    return rpc.request(f"{daemon.url}/mcp", "POST", body, {**rpc.HEADERS, **OWNER, **headers})


def tool(name: str, request_id: Any, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("request_id", [None, True, 1.5, [], {}])
def test_an_id_that_is_none_gets_an_error(
    guarded: Daemon, request_id: Any, version: str | None
) -> None:
    headers = {} if version is None else {"MCP-Protocol-Version": version}
    reply = post(guarded, tool("status", request_id), **headers)
    assert reply.status == 400
    assert json.loads(reply.body)["id"] is None
    assert json.loads(reply.body)["error"]["code"] == -32600


@pytest.mark.parametrize("request_id", [0, -1, "", "one", 2**60])
def test_any_text_and_any_integer_is_an_id(guarded: Daemon, request_id: Any) -> None:
    reply = post(guarded, tool("status", request_id))
    assert json.loads(reply.body.rpartition(b"data: ")[2])["id"] == request_id


def test_a_notification_is_accepted(guarded: Daemon) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert post(guarded, note).status == 202


async def test_only_post_is_served(guarded: Daemon) -> None:
    """A GET was an endless empty stream."""
    name = await guarded.begin(script(HANG), goal="g")
    for url, headers in ((f"{guarded.url}/mcp", OWNER), (signal_urls(guarded)[-1], {})):
        for method in ("GET", "DELETE", "PUT", "OPTIONS"):
            given = {**headers, "Accept": "text/event-stream", "Mcp-Session-Id": "x"}
            reply = rpc.request(url, method, headers=given)
            assert (reply.status, reply.headers["allow"]) == (405, "POST")
    await guarded.must("interrupt", name=name, force=True)


def test_a_caller_that_hangs_up_inside_a_body_is_not_logged(guarded: Daemon) -> None:
    before = Load.of(guarded).log
    for framing in ({"Content_Length": "1000"}, {"Transfer_Encoding": "chunked"}):
        for said in (b"", b"5\r\n{", b'5\r\n{"a":\r\n'):
            with connect(guarded) as connection:
                fields = {**rpc.HEADERS, **OWNER, **framing}
                connection.sendall(head(guarded, "POST /mcp", **fields) + said)
    for _ in range(20):
        raw(guarded, head(guarded, "GET /healthz"))
    assert Load.of(guarded).log == before, guarded.log[before:]


def cancel(daemon: Daemon, request_id: Any, **headers: str) -> None:
    params = {"requestId": request_id, "reason": "no longer needed"}
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    assert post(daemon, note, **headers).status == 202


def session_of(daemon: Daemon) -> str:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    return post(daemon, asked).headers["mcp-session-id"]


@pytest.mark.parametrize("with_session", [True, False])
@pytest.mark.parametrize("request_id", [7, "seven"])
async def test_a_cancelled_wait_ends_and_its_run_goes_on(
    guarded: Daemon, request_id: Any, *, with_session: bool
) -> None:
    name = await guarded.begin(script(HANG))
    headers = {"Mcp-Session-Id": session_of(guarded)} if with_session else {}
    waiting = begin(
        guarded,
        as_json(tool("wait", request_id, names=[name], timeout_s=3600)),
        **{key.replace("-", "_"): value for key, value in headers.items()},
    )
    with waiting:
        assert statuses(await anyio.to_thread.run_sync(waiting.recv, 65536)) == [200]
        cancel(guarded, request_id, **headers)
        answer = await anyio.to_thread.run_sync(rest_of, waiting)
    told = json.loads(answer.rpartition(b"data: ")[2].partition(b"\r\n")[0])
    assert (told["id"], told["error"]["code"]) == (request_id, -32800)
    assert (await guarded.must("status", name=name))["state"] == "running"
    await guarded.must("interrupt", name=name, force=True)


async def test_no_client_cancels_the_wait_of_another(guarded: Daemon) -> None:
    """Each client counts its ids from 0."""
    name = await guarded.begin(script(HANG))
    ours, theirs = session_of(guarded), session_of(guarded)
    asked = as_json(tool("wait", 1, names=[name], timeout_s=3600))
    waits = [begin(guarded, asked, Mcp_Session_Id=ours), *(begin(guarded, asked) for _ in "12")]
    for waiting in waits:
        assert statuses(await anyio.to_thread.run_sync(waiting.recv, 65536)) == [200]
    cancel(guarded, 1, **{"Mcp-Session-Id": theirs})
    cancel(guarded, 1)
    cancel(guarded, 8, **{"Mcp-Session-Id": ours})
    cancel(guarded, {"a": 1}, **{"Mcp-Session-Id": ours})
    cancel(guarded, True, **{"Mcp-Session-Id": ours})
    await guarded.must("interrupt", name=name, force=True)
    for waiting in waits:
        with waiting:
            assert b'"done":true' in await anyio.to_thread.run_sync(rest_of, waiting)


async def test_a_session_id_of_an_earlier_daemon_is_served(guarded: Daemon) -> None:
    assert post(guarded, tool("status", 1), **{"Mcp-Session-Id": "of another life"}).status == 200
    name = await guarded.begin(script(HANG))
    asked = as_json(tool("wait", 1, names=[name], timeout_s=3600))
    waiting = begin(guarded, asked, Mcp_Session_Id="of another life")
    waiting.close()
    await until(lambda: Load.of(guarded).descriptors < 40, "its end")
    await guarded.must("interrupt", name=name, force=True)
