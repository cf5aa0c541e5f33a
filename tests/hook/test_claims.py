"""Parallel tools fire parallel hooks: each file is acted on by one of them, and never lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from .channel import HOOK, PYTHON, Answer, Channel, event, finish


def fire_together(channel: Channel, count: int) -> list[Answer]:
    """Start `count` hooks, and let them off only once all are waiting for their event."""
    with ExitStack() as stack:
        hooks = [stack.enter_context(channel.popen()) for _ in range(count)]
        for process in hooks:
            process.stdin.write(event())
        for process in hooks:
            process.stdin.close()
            process.stdin = None
        return [finish(process, b"") for process in hooks]


@pytest.mark.parametrize("name", ["_stop.txt", "_intervene.txt"])
def test_twenty_hooks_deliver_one_file_once(channel: Channel, name: str) -> None:
    for turn in range(3):
        channel.put(name, f"number {turn}")
        reasons = [a.reason for a in fire_together(channel, 20) if a.said is not None]
        assert len(reasons) == 1
        assert reasons[0].endswith(f"] number {turn}")
        assert channel.names() == set()


def test_twenty_hooks_append_key_information_once(channel: Channel) -> None:
    channel.put("_keyinfo.txt", "the port is 9")
    assert all(answer.said is None for answer in fire_together(channel, 20))
    assert channel.keyinfo.read_text() == "the port is 9\n"


def test_twenty_hooks_over_all_three_files_lose_and_double_nothing(channel: Channel) -> None:
    channel.put("_stop.txt", "halt")
    channel.put("_keyinfo.txt", "the port is 9")
    channel.put("_intervene.txt", "plan B")
    answers = fire_together(channel, 20)
    channel.later()
    answers.append(channel.fire())
    assert sorted(a.reason for a in answers if a.said is not None) == [
        "[PARENT INTERVENTION] plan B",
        "[parent-stop] halt",
    ]
    assert channel.keyinfo.read_text() == "the port is 9\n"
    assert channel.names() == set()
    assert len(channel.told().splitlines()) == 21


def test_after_a_stop_the_parallel_hooks_of_its_step_leave_the_others(channel: Channel) -> None:
    """Whichever of them comes first, and however late the last one does."""
    for _ in range(8):
        for name in ("_stop.txt", "_keyinfo.txt", "_intervene.txt"):
            channel.put(name, name)
        answers = [*fire_together(channel, 12), channel.fire()]
        assert [a.reason for a in answers if a.said is not None] == ["[parent-stop] _stop.txt"]
        assert channel.names() == {"_keyinfo.txt", "_intervene.txt"}
        channel.later()
    assert channel.fire().reason.endswith("_intervene.txt")
    assert [path.name for path in channel.folder.iterdir()] == ["output.txt"]


def test_a_stop_in_the_hand_of_another_hook_holds_the_others_back(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    claimed = channel.folder / f"_stop.txt.claimed-{os.getpid()}-{time.time_ns()}"
    claimed.write_text("halt")
    assert channel.fire().said is None
    claimed.rename(claimed.with_name(f"_stop.txt.claimed-{os.getpid()}-1"))
    assert channel.fire().reason.endswith("plan B")


def test_an_answer_that_nobody_can_read_is_put_back(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(
        [PYTHON, "-IS", str(HOOK)],
        cwd=channel.project,
        env={"TASK_ID": channel.task},
        stdin=subprocess.DEVNULL,
        stdout=writer,
    ) as process:
        os.close(writer)
        assert process.wait(timeout=60) == 0
    assert "left for the next step" in channel.told()
    assert channel.fire().reason.endswith("plan B")


def test_what_is_put_back_does_not_overwrite_a_newer_file(channel: Channel) -> None:
    with (channel.folder / "_intervene.txt").open("w") as writer, channel.popen() as process:
        writer.write("old")
        writer.flush()
        process.stdin.write(event())
        process.stdin.close()
        process.stdin = None
        while not list(channel.folder.glob("*.claimed-*")):
            assert process.poll() is None
        channel.put("_intervene.txt", "new")
        assert finish(process, b"").said is None
    (old,) = channel.folder.glob("_intervene.txt.rejected-*")
    assert old.read_text() == "old"
    assert channel.fire().reason.endswith("] new")


def test_the_claim_of_a_hook_that_died_is_set_aside_and_told(channel: Channel) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        pass
    left = channel.folder / f"_stop.txt.claimed-{gone.pid}-1"
    left.write_text("halt")
    assert channel.fire().said is None
    assert "_stop.txt was held by a hook that died" in channel.told()
    (aside,) = channel.folder.glob("_stop.txt.rejected-*")
    assert aside.read_text() == "halt"


@pytest.mark.parametrize("owner", ["me", "word", "9" * 40, "²"])
def test_a_claim_that_may_be_alive_is_left_alone(channel: Channel, owner: str) -> None:
    pid = str(os.getpid()) if owner == "me" else owner
    left = channel.folder / f"_stop.txt.claimed-{pid}-1"
    left.write_text("halt")
    channel.fire()
    assert channel.names() == {left.name}
