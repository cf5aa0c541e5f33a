"""Recorded streams of turns with background work: when each is over, and what its answers are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.batches import batch_of

from hive_subagent.claude import protocol
from hive_subagent.claude.background import Background
from hive_subagent.claude.conversation import Conversation, Message, Phase
from hive_subagent.claude.outcome import is_answer

SAMPLES = Path(__file__).parent / "samples"

BUSY, BACKGROUND, OWED, SETTLED = Phase.BUSY, Phase.BACKGROUND, Phase.OWED, Phase.SETTLED
NEW, OLD = "2.1.332", "2.1.197"

Stages = list[tuple[Phase, list[str]]]


def lines_of(version: str, case: str) -> list[bytes]:
    return (SAMPLES / version / f"background-{case}.jsonl").read_bytes().splitlines(keepends=True)


def is_ours(event: dict[str, Any]) -> bool:
    """Whether a line says that a message of ours is consumed."""
    return bool(event.get("isReplay")) and not str(event["message"]["content"]).startswith("<task-")


def played(lines: list[bytes]) -> tuple[Conversation, Stages]:
    """A conversation that heard them, and where its turn stood whenever that changed."""
    events = [event for event in map(protocol.parse, lines) if event is not None]
    conversation = Conversation()
    for event in filter(is_ours, events):
        conversation.sent(Message(event["uuid"]))
    stages: Stages = []
    for line in lines:
        conversation.take(batch_of(line))
        # no line in between makes it look as if the turn had failed
        message = conversation.message
        assert message is None or message.result is None or is_answer(message.result)
        kinds = [task.kind for task in conversation.background.open.values()]
        stage = (conversation.phase, kinds if conversation.phase is BACKGROUND else [])
        if not stages or stages[-1] != stage:
            stages.append(stage)
    return conversation, stages


ONE_TASK: Stages = [(BUSY, []), (BACKGROUND, ["shell"]), (OWED, []), (BUSY, []), (SETTLED, [])]
AGENT: Stages = [(BUSY, []), (BACKGROUND, ["agent"]), (OWED, []), (BUSY, []), (SETTLED, [])]
WORKFLOW: Stages = [(BUSY, []), (BACKGROUND, ["workflow"]), (OWED, []), (BUSY, []), (SETTLED, [])]
AT_ONCE: Stages = [(BUSY, []), (SETTLED, [])]
ONLY_OWED: Stages = [(BUSY, []), (OWED, []), (BUSY, []), (SETTLED, [])]

CASES: list[tuple[str, str, Stages, list[str]]] = [
    (NEW, "command", ONE_TASK, ["I started the build", "The build is done"]),
    (OLD, "command", ONE_TASK, ["I started the build", "The build is done"]),
    (NEW, "agent", AGENT, ["I launched an agent", "PARENT: the agent found X"]),
    # in the foreground there
    (OLD, "agent", AT_ONCE, ["I launched an agent"]),
    (NEW, "agent-fails", AGENT, ["launched", "n1"]),
    (OLD, "agent-fails", ONLY_OWED, ["launched", "n1"]),
    (NEW, "workflow", WORKFLOW, ["workflow launched", "workflow done"]),
    (OLD, "workflow", WORKFLOW, ["workflow launched", "workflow done"]),
    (NEW, "nested", AGENT, ["launched outer", "PARENT final"]),
    (OLD, "nested", AT_ONCE, ["launched outer"]),
    (NEW, "owned-by-foreground-agent", AT_ONCE, ["final"]),
    (OLD, "owned-by-foreground-agent", AT_ONCE, ["final"]),
    # its end is told in the same turn, or in one more
    (NEW, "ends-during-turn", AT_ONCE, ["final"]),
    (OLD, "ends-during-turn", AT_ONCE, ["final"]),
    (NEW, "ends-during-last-request", ONLY_OWED, ["final", "after notification"]),
    (OLD, "ends-during-last-request", ONLY_OWED, ["final", "after notification"]),
    (
        NEW,
        "several",
        [
            (BUSY, []),
            (BACKGROUND, ["agent", "shell", "shell"]),
            (BACKGROUND, ["agent", "shell"]),
            (BUSY, []),
            (BACKGROUND, ["agent", "shell"]),
            (BACKGROUND, ["agent"]),
            (BUSY, []),
            (BACKGROUND, ["agent"]),
            (OWED, []),
            (BUSY, []),
            (SETTLED, []),
        ],
        ["started three", "r2", "r3", "r4"],
    ),
    # the first of the two turns that it opens is empty
    (
        NEW,
        "two-end-together",
        [
            (BUSY, []),
            (BACKGROUND, ["shell", "shell"]),
            (BACKGROUND, ["shell"]),
            (OWED, []),
            (BUSY, []),
            (OWED, []),
            (BUSY, []),
            (SETTLED, []),
        ],
        ["started", "n1"],
    ),
    (
        OLD,
        "two-end-together",
        [
            (BUSY, []),
            (BACKGROUND, ["shell", "shell"]),
            (BACKGROUND, ["shell"]),
            (OWED, []),
            (BUSY, []),
            (OWED, []),
            (BUSY, []),
            (SETTLED, []),
        ],
        ["started", "n1", "n2"],
    ),
    # a command of an agent's: for a moment nothing is open before the agent itself goes on
    (
        NEW,
        "owned-by-agent",
        [
            (BUSY, []),
            (BACKGROUND, ["agent"]),
            (BACKGROUND, ["agent", "shell"]),
            (BACKGROUND, ["shell"]),
            (BUSY, []),
            (BACKGROUND, ["shell"]),
            (OWED, []),
            (BACKGROUND, ["agent"]),
            (OWED, []),
            (BUSY, []),
            (SETTLED, []),
        ],
        ["launched", "n1", "n2"],
    ),
    # nobody is told of it there
    (
        OLD,
        "owned-by-agent",
        [
            (BUSY, []),
            (BACKGROUND, ["agent"]),
            (OWED, []),
            (BUSY, []),
            (BACKGROUND, ["shell"]),
            (OWED, []),
        ],
        ["launched", "n1"],
    ),
    (
        NEW,
        "monitor",
        [
            (BUSY, []),
            *[(BACKGROUND, ["monitor"]), (BUSY, [])] * 3,
            (BACKGROUND, ["monitor"]),
            (OWED, []),
            (BUSY, []),
            (SETTLED, []),
        ],
        ["watching", "saw 1", "saw 2", "saw 3", "saw 4"],
    ),
    (
        NEW,
        "monitor-expires",
        [(BUSY, []), (BACKGROUND, ["monitor"]), (OWED, []), (BUSY, []), (SETTLED, [])],
        ["watching", "n1"],
    ),
    # the model stops it: no turn tells of that
    (NEW, "taskstop", AT_ONCE, ["started", "stopped it"]),
    (OLD, "taskstop", AT_ONCE, ["started", "stopped it"]),
    (NEW, "message-in-hold", ONE_TASK, ["started", "ANSWER TO SECOND", "AFTER-NOTIF"]),
    (OLD, "message-in-hold", ONE_TASK, ["started", "ANSWER TO SECOND", "AFTER-NOTIF"]),
    # an interrupt ends the agents alone
    (NEW, "interrupt-in-hold", [(BUSY, []), (BACKGROUND, ["shell"])], ["started", "still here"]),
    # resumed after a task was cut: an empty result comes before ours
    (NEW, "resumed", AT_ONCE, ["back"]),
]


@pytest.mark.parametrize(
    ("version", "case", "stages", "answers"), CASES, ids=[f"{v}/{c}" for v, c, _, _ in CASES]
)
def test_a_turn_is_over_when_its_background_work_is(
    version: str, case: str, stages: Stages, answers: list[str]
) -> None:
    """Issue 9, 1 and 2."""
    conversation, went = played(lines_of(version, case))
    assert went == stages
    assert [answer.text for answer in conversation.spoken.answers] == answers
    assert conversation.message is not None
    assert conversation.message.result is not None


@pytest.mark.parametrize(("version", "case"), [(v, c) for v, c, _, _ in CASES])
def test_it_is_the_same_without_hooks_and_in_one_block(version: str, case: str) -> None:
    """Issue 9, 1: a run that nobody steers has none, and neither has one whose input is closed."""
    lines = [line for line in lines_of(version, case) if b'"control_request"' not in line]
    whole = Conversation()
    for event in filter(is_ours, filter(None, map(protocol.parse, lines))):
        whole.sent(Message(event["uuid"]))
    whole.take(batch_of(b"".join(lines)))
    stepwise, stages = played(lines)
    assert whole.phase is stages[-1][0]
    assert whole.spoken.answers == stepwise.spoken.answers
    assert [text for v, c, _, texts in CASES if (v, c) == (version, case) for text in texts] == [
        answer.text for answer in whole.spoken.answers
    ]


def test_a_task_that_is_ended_between_two_turns_has_been_cut() -> None:
    """Issue 9, 1: claude does so on its way out; where it goes on, it was not."""
    background = Background()
    task = {"task_id": "b1", "task_type": "local_bash", "description": "serve"}
    gone = {"subtype": "task_updated", "task_id": "b1", "patch": {"status": "killed"}}
    background.system({"subtype": "background_tasks_changed", "tasks": [task]})
    background.system(gone, working=False)
    background.system({"subtype": "background_tasks_changed", "tasks": []}, working=False)
    assert (background.open, background.owed) == ({}, {})
    assert [shown.description for shown in background.shown()] == ["serve"]
    background.result({})
    assert background.shown() == []
    background.system({"subtype": "background_tasks_changed", "tasks": [task]})
    background.system(gone, working=True)
    assert background.shown() == []
