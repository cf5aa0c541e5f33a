"""What goes beyond a bound ends its run as failed, and not the daemon (issue 10, 11)."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from hive_subagent.claude import bounds
from hive_subagent.claude.background import ID_LIMIT, MOST_ANNOUNCED, MOST_TASKS, Background
from hive_subagent.claude.conversation import Conversation, Message
from hive_subagent.claude.hooks import Say
from hive_subagent.claude.invocation import Invocation
from hive_subagent.claude.pipes import Stdout
from hive_subagent.claude.process import RunningClaude
from hive_subagent.claude.stream import Follower

MIB = 1024 * 1024

# asks for ever and reads nothing
ASKS = """
import json, sys
ask = {"subtype": "hook_callback", "input": {"hook_event_name": "PostToolBatch"}}
number = 0
while True:
    number += 1
    print(json.dumps({"type": "control_request", "request_id": str(number), "request": ask}))
"""


class Answers:
    """Answers each step with the same words."""

    followers: Sequence[Follower] = ()

    def at_step(self, known_as: str) -> Say:
        return Say("x" * 1000, Message(known_as))

    def at_end(self, known_as: str) -> None:
        return None


def read(line: bytes) -> Stdout:
    """A reader that has been given this line, in pieces."""
    stdout = Stdout(Conversation(), lambda: None)
    for start in range(0, len(line), MIB):
        stdout.data_received(line[start : start + MIB])
    stdout.data_received(b"\n")
    return stdout


@pytest.mark.parametrize(
    "content", [b"[]," * 6 * MIB + b"0", b"0," * 8 * MIB + b"0", b'{"a":1},' * 2 * MIB + b"0"]
)
def test_a_line_of_too_many_values_breaks_its_reader(content: bytes) -> None:
    """It took 1.8 GB and half a minute of the event loop."""
    stdout = read(b'{"type":"user","message":{"content":[' + content + b"]}}")
    assert stdout.broken is not None
    assert "with over 1000000 JSON values" in stdout.broken


def test_a_long_text_full_of_commas_and_brackets_is_read() -> None:
    """R1: they are no values."""
    text = '[1,2,{"x":"\\\\"}],' * MIB
    line = json.dumps({"type": "result", "subtype": "success", "result": text}).encode()
    stdout = Stdout(conversation := Conversation(), lambda: None)
    stdout.data_received(line + b"\n")
    assert stdout.broken is None
    assert conversation.last_result is not None
    assert conversation.last_result["result"] == text


def test_too_many_open_tools_break_the_reader() -> None:
    calls = [
        {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "true"}}
        for number in range(bounds.MOST_OPEN_TOOLS + 1)
    ]
    stdout = read(json.dumps({"type": "assistant", "message": {"content": calls}}).encode())
    assert stdout.broken is not None
    assert "tool calls without a result; the limit is 1000" in stdout.broken
    fits = read(json.dumps({"type": "assistant", "message": {"content": calls[1:]}}).encode())
    assert fits.broken is None


def test_background_tasks_that_a_claude_makes_up_do_not_pile_up() -> None:
    followed = Background()
    for number in range(2 * MOST_ANNOUNCED):
        task = {"task_id": f"t{number}-{'x' * 1000}", "run_id": "r" * 1000}
        followed.system({"subtype": "task_started", **task})
        followed.tool_result({"backgroundTaskId": task["task_id"]})
        followed.system({"subtype": "task_notification", "status": "completed", **task})
    assert list(followed.owed) == [
        f"t{number}-{'x' * 1000}"[:ID_LIMIT]
        for number in range(2 * MOST_ANNOUNCED - MOST_TASKS, 2 * MOST_ANNOUNCED)
    ]
    assert {task.run_id for task in followed.owed.values()} == {"r" * ID_LIMIT}
    for number in range(2 * MOST_ANNOUNCED):
        followed.system({"subtype": "task_started", "task_id": f"u{number}"})
    assert len(followed._announced) == MOST_ANNOUNCED


def test_a_torn_last_line_of_too_many_values_is_left_out() -> None:
    stdout = Stdout(Conversation(), lambda: None)
    stdout.data_received(b'{"x":[' + b"[]," * 2 * MIB)
    stdout.connection_lost(None)
    assert stdout.ended


async def test_a_claude_that_asks_and_never_reads_is_broken_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its answers piled up: 3.1 GB in 15 s."""
    monkeypatch.setattr(bounds, "MOST_UNREAD", MIB)

    def direct(argv: Sequence[str]) -> Sequence[str]:
        return argv

    invocation = Invocation((sys.executable, "-S", "-c", ASKS), {}, Path("/"))
    claude = await RunningClaude.spawn(invocation, launcher=direct, steering=Answers())
    try:
        with anyio.fail_after(60):
            await claude.until(lambda: claude.broken is not None)
        assert claude.broken is not None
        assert "does not read its answers" in claude.broken
    finally:
        claude.signal(signal.SIGKILL)
        with anyio.fail_after(60, shield=True):
            await claude.exited()
        await claude.close()
