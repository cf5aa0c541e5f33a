"""The owner's tools as an MCP client sees them."""

from __future__ import annotations

import json
import socket
from typing import Any, Literal

import anyio
import pytest
from mcp import Client
from support import rpc
from support.daemon import Daemon
from support.processes import until
from support.stub import HANG, script, text

PARAMETERS = {
    "start": {
        "name",
        "prompt",
        "prompt_file",
        "model",
        "trigger",
        "dir",
        "goal",
        "max_turns",
        "report_file",
    },
    "continue": {"name", "prompt", "model", "dir", "goal", "max_turns", "report_file"},
    "status": {"name"},
    "interrupt": {"name", "force"},
    "wait": {"names", "until", "timeout_s"},
}
REQUIRED = {
    "start": {"name"},
    "continue": {"name", "prompt"},
    "interrupt": {"name"},
}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_tools_and_their_parameters(
    daemon: Daemon, mode: Literal["auto", "legacy"]
) -> None:
    """In the protocol of today and in that of clients from before."""
    async with Client(f"{daemon.url}/mcp", mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name, parameters in PARAMETERS.items():
        tool = tools[name]
        assert parameters <= set(tool.input_schema["properties"])
        assert set(tool.input_schema.get("required", [])) == REQUIRED.get(name, set())
        assert tool.description
        assert len(tool.description) < 200, "each answer explains itself"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_answer_is_a_text_and_the_same_as_structured_content(
    daemon: Daemon, mode: Literal["auto", "legacy"]
) -> None:
    """The SDK's client checks the content against the schema of the tool."""
    name = daemon.name()
    async with Client(f"{daemon.url}/mcp", mode=mode) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content
            (part,) = result.content
            assert part.type == "text"
            content = dict(result.structured_content or {})
            assert content["text"] == part.text
            return content

        started = await call("start", name=name, prompt_file=daemon.brief(script(HANG)))
        status = await call("status", name=name)
        assert {"name", "session_id", "dir"} <= status.keys()
        assert all(status[key] == started[key] for key in ("name", "session_id", "dir"))
        everyone = await call("status")
        assert name in [session["name"] for session in everyone["sessions"]]
        waited = await call("wait", names=[name], timeout_s=0)
        assert (waited["done"], [s["name"] for s in waited["sessions"]]) == (False, [name])
        stopped = await call("interrupt", name=name, force=True)
        assert {"name", "session_id", "forced", "ended", "processes"} <= stopped.keys()
        assert (stopped["forced"], stopped["ended"]) == (True, True)
        assert stopped["processes"][0].keys() == {"pid", "command"}
        again = await call("continue", name=name, prompt=script(text("done")))
        assert again.keys() == started.keys()
        assert again["previous"].keys() == {"state", "cause", "signal"}
        ended = await call("wait", names=[name], until="any")
        assert ended["sessions"][0]["result"] == "done"


async def test_running_ones_come_first_in_the_status_of_all(daemon: Daemon) -> None:
    done = (await daemon.run(script(text("x"))))["name"]
    runs = await daemon.begin(script(HANG))
    names = [session["name"] for session in (await daemon.must("status"))["sessions"]]
    assert names.index(runs) < names.index(done)
    await daemon.must("interrupt", name=runs)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"name": 7, "prompt_file": "x"},
        {"name": "a", "prompt_file": ["x"]},
        {"name": "a", "prompt_file": "x", "max_turns": "many"},
        {"name": None, "prompt_file": "x"},
    ],
)
async def test_arguments_of_a_wrong_kind_are_a_tool_error_that_names_them(
    daemon: Daemon, arguments: dict[str, Any]
) -> None:
    before = daemon.children()
    answer = await daemon.call("start", **arguments)
    assert answer.is_error
    assert "name" in answer.text or "prompt_file" in answer.text or "max_turns" in answer.text
    assert daemon.children() == before
    assert "Traceback" not in daemon.log


async def test_half_a_character_pair_is_refused_whole_and_changes_nothing(daemon: Daemon) -> None:
    """It is no Unicode, so no call: a bad request before any tool sees it."""
    name = (await daemon.run(script(text("x"))))["name"]
    body = rpc.body_of("continue", {"name": name, "prompt": "\ud83d"})
    reply = rpc.request(f"{daemon.url}/mcp", "POST", body, rpc.HEADERS)
    assert reply.status == 400
    assert json.loads(reply.body)["error"]["code"] == -32700
    await daemon.notice(name, count=1)
    assert "Traceback" not in daemon.log


@pytest.mark.parametrize("told", ["7", "null", '{"a": 1}', "[1]", '"quoted"', "true"])
async def test_a_text_that_happens_to_be_json_stays_a_text(daemon: Daemon, told: str) -> None:
    session = await daemon.run(script(text("x")), goal=told, max_turns=1, trigger=told)
    assert session["goal"] == told


async def test_progress_comes_at_once_and_over_the_wire(daemon: Daemon) -> None:
    """At the end of a wait at least, and every 20 s before (see the tests of waiting)."""
    told: list[tuple[float, float | None, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    name = await daemon.begin(script(HANG))
    async with Client(f"{daemon.url}/mcp") as client:
        await client.call_tool("wait", {"names": [name], "timeout_s": 0.2}, progress_callback=heard)
    assert told
    progress, total, message = told[-1]
    assert progress >= 0
    assert total == 0.2
    assert "1 running" in (message or "")
    await daemon.must("interrupt", name=name)


async def test_a_client_that_hangs_up_ends_no_run(daemon: Daemon) -> None:
    """R12: in the middle of a wait, and in the middle of a start."""
    gate, name = daemon.gate(), daemon.name()
    brief = daemon.brief(script(text("done"), before_init=[{"wait_file": str(gate)}]))
    _send_and_hang_up(daemon, "start", {"name": name, "prompt_file": brief})
    await until(lambda: any(f"--name={name}" in c for c in daemon.children().values()))
    _send_and_hang_up(daemon, "wait", {"names": [name], "timeout_s": 60})
    with anyio.fail_after(20):
        while (await daemon.must("status", name=name))["state"] != "starting":  # noqa: ASYNC110
            await anyio.sleep(0.02)
    gate.touch()
    assert (await daemon.ended(name))["result"] == "done"
    await daemon.notice(name)


async def test_a_client_that_kept_a_session_of_an_earlier_daemon_is_served(
    daemon: Daemon,
) -> None:
    """R31: it got 404 for ever."""
    kept = {"mcp-session-id": "0123456789abcdef0123456789abcdef"}
    answer = rpc.call(f"{daemon.url}/mcp", "status", {}, kept)
    assert "sessions" in answer.data
    assert rpc.request(f"{daemon.url}/mcp", "DELETE", headers=kept).status < 500


def _send_and_hang_up(daemon: Daemon, tool: str, arguments: dict[str, Any]) -> None:
    host, port = daemon.url.removeprefix("http://").split(":")
    body = rpc.body_of(tool, arguments)
    head = [f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n"]
    head += [f"{name}: {value}\r\n" for name, value in rpc.HEADERS.items()]
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall("".join(head).encode() + b"\r\n" + body)
