"""`hive-subagent mcp`: an MCP server on stdin and stdout, before the daemon."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from support import processes
from support.daemon import Daemon
from support.stub import HANG, script, text

from cli.running import PROGRAM, environment

ABOUT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a-client", "version": "1"},
}


class Spoken:
    """A client of the bridge: JSON-RPC, a line each."""

    def __init__(self, daemon: Daemon) -> None:
        self.process = subprocess.Popen(
            [PROGRAM, "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(daemon),
        )
        self._number = 0

    def send(self, method: str, parameters: Any = None, *, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": parameters or {}}
        if number is not None:
            message["id"] = number
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def heard(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the bridge has ended"
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, method: str, parameters: Any = None) -> dict[str, Any]:
        """The answer to one request; what else comes is passed over."""
        self._number += 1
        self.send(method, parameters, number=self._number)
        while (message := self.heard()).get("id") != self._number:
            pass
        return message

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result: dict[str, Any] = answer.get("result") or answer
        return result

    def begin(self) -> None:
        assert self.ask("initialize", ABOUT)["result"]["serverInfo"]["name"] == "subagent"
        self.send("notifications/initialized")


@pytest.fixture
def bridge(daemon: Daemon) -> Iterator[Spoken]:
    yield from _ended(Spoken(daemon))


def _ended(spoken: Spoken) -> Iterator[Spoken]:
    try:
        yield spoken
        assert spoken.process.stdin is not None
        spoken.process.stdin.close()
        assert spoken.process.wait(processes.PATIENCE_S) == 0
    finally:
        spoken.process.kill()
        spoken.process.wait()
        assert spoken.process.stdout is not None
        spoken.process.stdout.close()


def test_tools_are_listed_and_called(daemon: Daemon, bridge: Spoken) -> None:
    """Issue 13, 3."""
    bridge.begin()
    tools = [tool["name"] for tool in bridge.ask("tools/list")["result"]["tools"]]
    assert {"start", "continue", "status", "wait", "delegate"} <= set(tools)
    name = daemon.name()
    assert not bridge.call("start", name=name, prompt=script(text("done"))).get("isError")
    waited = bridge.call("wait", names=[name])
    assert waited["structuredContent"]["sessions"][0]["result"] == "done"


def test_a_refusal_arrives_as_the_tools_own(daemon: Daemon, bridge: Spoken) -> None:
    bridge.begin()
    refused = bridge.call("start", name="NOT A NAME", prompt="x")
    assert refused["isError"]


def test_a_wait_holds_up_no_other_call_and_reports_progress(daemon: Daemon, bridge: Spoken) -> None:
    """Issue 13, 3."""
    bridge.begin()
    name = daemon.name()
    bridge.call("start", name=name, prompt=script(text("x"), HANG))
    given = {"name": "wait", "arguments": {"names": [name], "timeout_s": 3600}}
    bridge.send("tools/call", {**given, "_meta": {"progressToken": "p"}}, number=1000)
    assert bridge.call("status", name=name)["structuredContent"]["state"] == "running"
    bridge.send("tools/call", {"name": "interrupt", "arguments": {"name": name}}, number=1001)
    answers: dict[int, Any] = {}
    while set(answers) != {1000, 1001}:
        message = bridge.heard()
        if "id" in message:
            answers[message["id"]] = message
    ended = answers[1000]["result"]["structuredContent"]
    assert ended["sessions"][0]["state"] == "killed"


def test_a_wait_that_the_client_cancels_ends_no_run(daemon: Daemon, bridge: Spoken) -> None:
    bridge.begin()
    name = daemon.name()
    bridge.call("start", name=name, prompt=script(text("x"), HANG))
    given = {"name": "wait", "arguments": {"names": [name], "timeout_s": 3600}}
    bridge.send("tools/call", given, number=2000)
    bridge.send("notifications/cancelled", {"requestId": 2000})
    assert bridge.call("status", name=name)["structuredContent"]["state"] == "running"
    bridge.call("interrupt", name=name, force=True)


def test_it_survives_a_restart_of_the_daemon_and_answers_the_call_in_flight(
    world: Daemon,
) -> None:
    """Issue 13, 3."""
    world.start()
    for spoken in _ended(Spoken(world)):
        spoken.begin()
        spoken.call("start", name="busy", prompt=script(text("x"), HANG))
        given = {"name": "wait", "arguments": {"names": ["busy"], "timeout_s": 3600}}
        spoken.send("tools/call", given, number=1000)
        spoken.call("status")
        world.kill()
        lost = spoken.heard()
        assert lost["id"] == 1000
        assert "the call was lost" in lost["error"]["message"]
        world.start()
        assert spoken.call("status", name="busy")["structuredContent"]["state"] == "killed"


def test_what_is_no_message_is_passed_over(daemon: Daemon, bridge: Spoken) -> None:
    assert bridge.process.stdin is not None
    bridge.process.stdin.write(b"no json\n[1]\n\n")
    bridge.begin()
