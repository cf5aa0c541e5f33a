"""The steering of one run follows its stream with two followers that do not need each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.batches import batch_of_events

from hive_subagent.claude.stream import Batch, Stream
from hive_subagent.intervention.channel import Channel
from hive_subagent.intervention.intervention import Intervention
from hive_subagent.intervention.queue import InterventionQueue
from hive_subagent.intervention.run_steering import RunSteering
from hive_subagent.models.session import Undelivered
from hive_subagent.sessions.launch import Launch
from hive_subagent.sessions.lifecycle import Lifecycle
from hive_subagent.sessions.order import Order
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.system import inotify

LAUNCH = Launch(
    record=SessionRecord(name="a", session_id="", dir="/", ours=True),
    order=Order("go"),
    program="claude",
    brief=None,
)
LINE = batch_of_events({"type": "system", "subtype": "init"})


async def test_an_output_file_that_fails_does_not_keep_a_text_from_being_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer that fails costs the run nothing (issue 12, 4)."""

    def fail(self: Channel, batch: Batch) -> None:
        raise RuntimeError("output.txt")

    monkeypatch.setattr(Channel, "hear", fail)
    kept: list[tuple[Undelivered, ...]] = []
    queue = InterventionQueue(keep=kept.append)
    steering = RunSteering(Lifecycle(LAUNCH).session, queue, stop_grace_s=1)
    steering.open_channel(tmp_path / "a", inotify.Watches())
    stream = Stream()
    for follower in steering.followers:
        stream.follow(follower)
    steering.take(Intervention(kind="info", text="one"))
    said = steering.at_step("h")
    assert said is not None
    stream.publish(LINE)
    said.message.consumed = True
    stream.publish(LINE)
    assert kept[-1] == ()
    assert steering.leave() == ()
