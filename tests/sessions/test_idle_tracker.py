"""Evidence of life: who computes quietly is told from who sleeps, and neither is ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.house import House, house
from support.processes import until
from support.stub import HANG, bash, script, text

from hive_subagent.models.session import SessionView, State
from hive_subagent.sessions import idle_tracker
from hive_subagent.sessions.lifecycle import LiveSession

SLEEP = bash("perl -e 'sleep 100'")
GRACE_S = 0.05


@pytest.fixture
async def hasty(anyio_backend: str, tmp_path: Path) -> AsyncIterator[House]:
    """A house whose every patience is far shorter than the silences in here."""
    graces = ("interrupt_grace_s", "exit_grace_s", "shutdown_grace_s", "resume_confirm_s")
    hasty: dict[str, Any] = dict.fromkeys((*graces, "stop_grace_s"), GRACE_S)
    async with house(tmp_path, **hasty) as made:
        yield made


async def silent(live: LiveSession, seconds: float) -> SessionView:
    """The run once it has been silent for so long."""
    await until(lambda: (live.view().last_event_age_s or 0) >= seconds, "the silence")
    return live.view()


async def test_a_quiet_tool_that_computes_shows_cpu_time_and_running_processes(
    home: House,
) -> None:
    """R9: a long build is not a wedge."""
    live = await home.begin(script(bash("while :; do :; done")))
    await until(lambda: (live.view().cpu_since_event_s or 0) > 0.2, "the CPU time")
    await until(lambda: _running(live.view()) >= 1, "a running process")
    view, said = await home.service.status("agent")
    assert view.open_tool is not None
    assert view.open_tool.name == "Bash"
    assert view.cpu_since_event_s is not None
    # issue 9, 34: without a cgroup it is a lower bound
    bound = "at least " if view.containment == "session" else ""
    assert f"it used {bound}{view.cpu_since_event_s:.1f} s of CPU" in said
    assert "quiet is normal while a tool runs" in said


async def test_a_tree_that_sleeps_shows_neither(home: House) -> None:
    live = await home.begin(script(SLEEP))
    await silent(live, 1.5 * idle_tracker.LOOK_S)
    await until(lambda: _running(live.view()) == 0, "them to sleep")
    view = live.view()
    assert view.processes is not None
    assert view.processes.sleeping >= 2, "claude and its tool"
    assert view.cpu_since_event_s is not None
    assert view.cpu_since_event_s < 0.2


async def test_a_line_ends_a_silence_and_what_was_used_in_it(home: House) -> None:
    gate = home.gate()
    busy = bash(f"while [ ! -e {gate} ]; do :; done")
    live = await home.begin(script(busy, HANG))
    await until(lambda: (live.view().cpu_since_event_s or 0) > 0.2, "the CPU time")
    used = live.view().cpu_s
    gate.touch()
    await until(lambda: live.view().open_tool is None, "the tool's end")
    view = live.view()
    assert view.cpu_since_event_s is not None
    assert view.cpu_since_event_s < 0.2
    assert view.cpu_s is not None
    assert used is not None
    assert view.cpu_s >= used, "what the whole run used stays"


async def test_a_run_that_hangs_half_way_grows_old_and_is_left_alone(hasty: House) -> None:
    """R8."""
    live = await hasty.begin(script(text("half"), HANG))
    young = live.view().last_event_age_s
    view = await silent(live, 40 * GRACE_S)
    assert young is not None
    assert view.last_event_age_s is not None
    assert view.last_event_age_s > young
    assert view.state is State.RUNNING
    _, said = await hasty.service.status("agent")
    assert "minutes of silence without either mean it may be stuck" in said
    assert not live.over.is_set()


async def test_a_quiet_tool_is_told_and_left_alone(hasty: House) -> None:
    """R9."""
    gate = hasty.gate()
    waits = bash(f"until [ -e {gate} ]; do sleep 0.05; done")
    live = await hasty.begin(script(waits, text("built")))
    view = await silent(live, 40 * GRACE_S)
    assert view.open_tool is not None
    assert view.open_tool.age_s >= 40 * GRACE_S
    gate.touch()
    assert (await hasty.ended()).result == "built"


async def test_a_subagent_that_has_not_said_a_word_is_left_alone_too(hasty: House) -> None:
    """R8: also before its first event, which `start` waits for no longer than it was told."""
    live = await hasty.begin(script(text("x"), before_init=[HANG]))
    view = await silent(live, 40 * GRACE_S)
    assert view.state is State.STARTING
    _, said = await hasty.service.status("agent")
    assert "is starting, without a word" in said
    assert not live.over.is_set()


def _running(view: SessionView) -> int:
    return view.processes.running if view.processes is not None else 0


def test_a_silence_shorter_than_a_look_has_no_figure_of_its_own() -> None:
    silence = idle_tracker.Silence()
    silence.look(last_line_at=1e12, cpu_s=lambda: 7.0)
    assert silence.used(1e12, 9.0) == 0.0
    assert silence.used(1e12, None) is None


def test_the_cpu_time_is_asked_for_once_in_a_silence() -> None:
    """A look at a run's processes is not free; a hundred quiet runs would be looked at for ever."""
    asked: list[float] = []

    def cpu_s() -> float:
        asked.append(3.0)
        return 3.0

    silence = idle_tracker.Silence()
    for _ in range(5):
        silence.look(1.0, cpu_s)
    assert asked == [3.0]
    assert silence.used(1.0, 4.5) == 1.5
    assert silence.used(1.0, 2.0) == 0.0, "a figure that shrank is no negative one"
    assert silence.used(2.0, 4.5) == 0.0, "a new line, a new silence"


def test_where_nothing_is_known_nothing_is_claimed() -> None:
    silence = idle_tracker.Silence()
    silence.look(1.0, lambda: None)
    assert silence.used(1.0, None) is None
    assert silence.used(1.0, 3.0) is None
