"""The phases of a run, and who may write its state."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from support.house import House
from support.stub import script, text

import hive_subagent
from hive_subagent.models.session import Cause, State
from hive_subagent.sessions.launch import Launch
from hive_subagent.sessions.lifecycle import NEXT, Lifecycle, LiveSession, Phase
from hive_subagent.sessions.order import Order
from hive_subagent.sessions.store import SessionRecord

LAUNCH = Launch(
    record=SessionRecord(name="a", session_id="", dir="/", ours=True),
    order=Order("go"),
    program="claude",
    brief=None,
)

TO: dict[Phase, Callable[[Lifecycle], None]] = {
    Phase.RESERVED: Lifecycle.reserve,
    Phase.RUNNING: Lifecycle.confirm,
    Phase.ENDING: Lifecycle.end,
    Phase.ENDED: Lifecycle.finish,
}
"""What needs no run to be called; `start` is given one."""


@pytest.mark.parametrize(("before", "after"), list(product(Phase, TO)), ids=str)
async def test_a_phase_is_entered_from_the_ones_before_it_alone(
    before: Phase, after: Phase
) -> None:
    """Issue 12, 2."""
    life = Lifecycle(LAUNCH)
    life.phase = before
    if after in NEXT[before] or before is after is Phase.ENDING:
        TO[after](life)
        assert life.phase is after
        return
    with pytest.raises(RuntimeError, match=f"is {before} cannot be {after}"):
        TO[after](life)
    assert life.phase is before
    assert not life.owed
    assert not life.over.is_set()


def test_each_phase_is_reached_and_leads_to_the_end() -> None:
    """Issue 12, 2."""
    assert set(NEXT) == set(Phase)
    assert set().union(*NEXT.values()) == set(Phase) - {Phase.QUEUED}
    for phase in Phase:
        reached, found = {phase}, {phase}
        while found:
            found = set().union(*(NEXT[each] for each in found)) - reached
            reached |= found
        assert Phase.ENDED in reached


async def test_a_queued_run_is_shown_as_queued_and_keeps_a_stop_for_its_start() -> None:
    """Issue 12, 2."""
    life = Lifecycle(LAUNCH, queued=True)
    assert life.session.queued
    assert life.session.view().state is State.QUEUED
    life.reserve()
    assert life.session.view().state is State.STARTING
    life.session.stop(Cause.INTERRUPT, step_s=1)
    life.session.stop(Cause.TIMEOUT, step_s=1)
    assert life.stopped_by is Cause.INTERRUPT


async def test_a_run_passes_through_its_phases(home: House) -> None:
    """Issue 12, 2."""
    gate = home.gate()
    live = await home.begin(script({"wait_file": str(gate)}, text("done")))
    phases = [live.phase]
    assert live.owed
    gate.touch()
    await home.ended()
    assert [*phases, live.phase] == [Phase.RUNNING, Phase.ENDED]


async def test_nothing_of_a_live_session_can_be_set() -> None:
    """Issue 12, 2: all but its executor have a view of a run."""
    session = Lifecycle(LAUNCH).session
    public = [name for name in vars(LiveSession) if isinstance(vars(LiveSession)[name], property)]
    assert {"record", "run", "phase", "lock", "owed", "over"} <= set(public)
    for name in public:
        with pytest.raises(AttributeError):
            setattr(session, name, None)


def test_the_executor_alone_knows_the_state_that_can_be_written() -> None:
    """Issue 12, 2: nothing else of the package imports `Lifecycle`."""
    package = Path(hive_subagent.__file__).parent
    importers = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and any(a.name == "Lifecycle" for a in node.names)
    }
    assert importers == {"sessions/executor.py"}
