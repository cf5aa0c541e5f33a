"""What signals do, by version and by what the process is doing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from stub.process import BOTH_WAYS, STREAM, Claude, Home, Json, directive, eventually

VERSIONS = ["2.1.197", "2.1.332"]
OLD, NEW = VERSIONS


def thinking(home: Home, version: str) -> Claude:
    """A process whose API does not answer."""
    claude = home.say(directive({"text": "begun"}, {"hang": True}), version=version)
    claude.until_type("assistant")
    return claude


def working(home: Home, version: str, command: str = "perl -e 'sleep 300'") -> tuple[Claude, int]:
    """A process in a Bash tool, and the pid of the tool's shell."""
    file = home.root / f"shell-{version}"
    script = directive({"bash": f"echo $$ > {file}.new; mv {file}.new {file}; {command}; true"})
    claude = home.say(script, version=version)
    claude.until_type("assistant")
    eventually(file.exists)
    return claude, int(file.read_text())


def alive(pid: int) -> bool:
    """Whether it runs: neither gone nor a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("number", "rc"),
    [
        (signal.SIGINT, 0),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGQUIT, -signal.SIGQUIT),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_a_signal_in_an_api_wait_ends_it_without_a_result(
    home: Home, version: str, number: int, rc: int
) -> None:
    claude = thinking(home, version)
    claude.signal(number)
    assert claude.rc() == rc
    assert [line for line in claude.rest() if line["type"] == "result"] == []


@pytest.mark.parametrize(("version", "rc"), [(OLD, 1), (NEW, 0)])
def test_sigint_in_a_tool_prints_a_result_and_kills_the_tool(
    home: Home, version: str, rc: int
) -> None:
    claude, shell = working(home, version)
    claude.signal(signal.SIGINT)
    result = claude.result()
    assert (result["subtype"], result["terminal_reason"]) == (
        "error_during_execution",
        "aborted_tools",
    )
    assert claude.rc() == rc
    assert not alive(shell)


@pytest.mark.parametrize(("version", "orphaned"), [(OLD, True), (NEW, False)])
def test_sigterm_in_a_tool_orphans_it_in_197_only(home: Home, version: str, orphaned: bool) -> None:
    """R10"""
    claude, shell = working(home, version)
    claude.signal(signal.SIGTERM)
    assert claude.rc() == 143
    assert [line for line in claude.rest() if line["type"] == "result"] == []
    assert alive(shell) == orphaned


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_sigkill_and_sighup_orphan_the_tool(home: Home, version: str, number: int) -> None:
    """R10"""
    claude, shell = working(home, version)
    assert os.getsid(shell) == shell
    claude.signal(number)
    claude.rc()
    assert alive(shell)
    environment = Path(f"/proc/{shell}/environ").read_bytes().split(b"\0")
    session = claude.seen[0]["session_id"].encode()
    assert b"CLAUDE_CODE_SESSION_ID=" + session in environment
    assert b"CLAUDECODE=1" in environment


def test_a_stubborn_tool_is_killed_in_the_end(home: Home) -> None:
    claude, shell = working(home, NEW, "trap '' TERM INT; while :; do perl -e 'sleep 1'; done")
    claude.signal(signal.SIGINT)
    assert claude.rc() == 0
    assert not alive(shell)


@pytest.mark.parametrize(
    ("version", "number", "rc"),
    [
        (OLD, signal.SIGINT, -signal.SIGINT),
        (OLD, signal.SIGTERM, -signal.SIGTERM),
        (NEW, signal.SIGINT, 0),
        (NEW, signal.SIGTERM, 143),
    ],
)
def test_a_signal_before_init_leaves_no_output_and_no_transcript(
    home: Home, version: str, number: int, rc: int
) -> None:
    ready = home.root / "ready"
    before: list[Json] = [{"touch": str(ready)}, {"sleep": 300}]
    claude = home.say(directive({"text": "x"}, before_init=before), version=version)
    eventually(ready.exists)
    claude.signal(number)
    assert claude.rc() == rc
    assert claude.rest() == []
    assert home.transcripts() == []


@pytest.mark.parametrize(
    ("version", "number", "rc"),
    [
        (OLD, signal.SIGINT, -signal.SIGINT),
        (OLD, signal.SIGTERM, 143),
        (OLD, signal.SIGHUP, -signal.SIGHUP),
        (NEW, signal.SIGINT, 0),
        (NEW, signal.SIGTERM, 143),
        (NEW, signal.SIGHUP, 129),
    ],
)
def test_a_process_that_waits_for_its_first_message_ends_by_a_signal(
    home: Home, version: str, number: int, rc: int
) -> None:
    claude = home.start(*BOTH_WAYS, version=version)
    claude.control("sync", "mcp_status")
    claude.until_type("control_response")
    claude.signal(number)
    assert claude.rc() == rc


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("number", "rc"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_idle_process_ends_by_a_signal(home: Home, version: str, number: int, rc: int) -> None:
    claude = home.start(*BOTH_WAYS, version=version)
    claude.user("x")
    claude.result()
    claude.signal(number)
    assert claude.rc() == rc


def test_a_deaf_process_yields_to_sigkill_only(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user(directive({"text": "begun"}, {"hang_deaf": True}))
    claude.until_type("assistant")
    eventually(lambda: _ignores(claude.pid, signal.SIGTERM))
    claude.signal(signal.SIGINT)
    claude.signal(signal.SIGTERM)
    claude.control("r1", "interrupt")
    assert claude.process.poll() is None
    claude.signal(signal.SIGKILL)
    assert claude.rc() == -signal.SIGKILL
    assert [line for line in claude.rest() if line["type"] == "control_response"] == []


def test_everything_that_died_can_be_resumed(home: Home) -> None:
    for version in VERSIONS:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            claude = thinking(home, version)
            session = claude.seen[0]["session_id"]
            claude.signal(number)
            claude.rc()
            again = home.say("x", *STREAM, f"--resume={session}", version=version)
            assert again.result()["session_id"] == session


def _ignores(pid: int, number: int) -> bool:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigIgn:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False
