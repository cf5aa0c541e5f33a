"""Deaths by memory, told apart: whose limit it was, who died, and that nobody is prompted again.

Plain files stand in for the kernel, which here kills whom the test kills; the truth is shown in the
machine scenarios.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from containment.plain import plain_unit, set_events
from support.house import House, house
from support.processes import until
from support.stub import bash, script, text
from support.unusable import run

from hive_subagent.errors import Refused
from hive_subagent.models.session import Cause, State
from hive_subagent.sessions.lifecycle import LiveSession
from hive_subagent.sessions.options import Options

MIB = 1024 * 1024
NO_GOAL = Options(goal="")
OWN = "at this run's own limit of 512 MiB"


@pytest.fixture
async def limited(anyio_backend: str, tmp_path: Path) -> AsyncIterator[House]:
    """A house in a unit of plain files, with a limit for each run."""
    hierarchy, _ = plain_unit(tmp_path)
    async with house(tmp_path, hierarchy=hierarchy, memory_max="512M") as made:
        yield made


def unit(home: House) -> Path:
    return home.root / "our.service"


def leaf(home: House) -> Path:
    (found,) = unit(home).glob("run-*")
    return found


def pid_of(live: LiveSession) -> int:
    assert live.run is not None
    assert live.run.claude is not None
    return live.run.claude.pid


async def begin_to_work(home: House, **options: Any) -> LiveSession:
    """A run that has a tool open, so that claude has written down its session."""
    live = await home.begin(script(bash("perl -e 'sleep 100'")), **options)
    await until(lambda: live.view().open_tool is not None, "a tool")
    return live


async def told(home: House, words: str) -> None:
    """`words` stand in the notice, in `status`, and in the answer of `continue`."""
    (notice,) = await home.notices()
    view, said = await home.service.status("agent")
    reply, answer = await home.service.continue_("agent", script(text("again")))
    for place in (notice["text"], said, answer):
        assert words in place
    assert reply.previous is not None
    assert reply.previous.cause is view.cause
    again = await home.ended()
    assert (again.state, again.cause, again.oom_kills) == (State.IDLE, None, 0)


async def test_a_claude_that_dies_at_its_own_limit_is_told_with_limit_and_peak(
    limited: House,
) -> None:
    """R14, R15: and a goal is not prompted for again."""
    live = await begin_to_work(limited, goal="eat it all", max_turns=3)
    (leaf(limited) / "memory.peak").write_text(f"{511 * MIB}\n")
    set_events(leaf(limited), oom=1, oom_kill=1)
    os.kill(pid_of(live), signal.SIGKILL)

    view = await limited.ended()

    assert (view.state, view.cause, view.signal) == (State.KILLED, Cause.OOM, "SIGKILL")
    assert (view.oom_kills, view.oom_scope) == (1, "run")
    assert (view.peak_memory_bytes, view.memory_max_bytes) == (511 * MIB, 512 * MIB)
    assert (view.turn, view.max_turns) == (1, 3)
    sentence = f"out of memory: the kernel killed claude {OWN}; its peak was 511 MiB"
    (notice,) = await limited.notices()
    assert notice["kind"] == "killed"
    assert f"was KILLED mid-turn ({sentence}); it did NOT finish" in notice["text"]
    assert "tool" not in notice["text"]
    _, said = await limited.service.status("agent")
    assert sentence in said
    _, answer = await limited.service.continue_("agent", script(text("x")), options=NO_GOAL)
    assert f"Its previous turn was KILLED ({sentence})" in answer
    await limited.ended()


async def test_a_claude_that_dies_at_the_services_limit_is_told_so(limited: House) -> None:
    """R15."""
    live = await begin_to_work(limited)
    set_events(unit(limited), "memory.events.local", oom=1, oom_kill=0)
    set_events(leaf(limited), oom=0, oom_kill=1)
    os.kill(pid_of(live), signal.SIGKILL)
    view = await limited.ended()
    assert (view.cause, view.oom_scope) == (Cause.OOM, "service")
    await told(limited, "the kernel killed claude at the limit of the whole service")


async def test_a_claude_that_the_machine_has_no_room_for_is_told_so(limited: House) -> None:
    live = await begin_to_work(limited)
    set_events(leaf(limited), oom=0, oom_kill=1)
    os.kill(pid_of(live), signal.SIGKILL)
    view = await limited.ended()
    assert (view.cause, view.oom_scope) == (Cause.OOM, "machine")
    await told(limited, "the kernel killed claude at a limit above this service's, or the machine")


async def test_a_sigkill_of_somebody_is_not_told_as_the_kernels(limited: House) -> None:
    live = await begin_to_work(limited)
    os.kill(pid_of(live), signal.SIGKILL)
    view = await limited.ended()
    assert (view.cause, view.signal) == (Cause.SIGNAL, "SIGKILL")
    assert (view.oom_kills, view.oom_scope) == (0, None)
    await told(limited, "(ended by SIGKILL from outside)")


async def test_a_run_whose_tool_the_kernel_kills_goes_on_and_says_so(limited: House) -> None:
    """The kernel takes the largest, usually a tool; claude is told and goes on."""
    gate = limited.gate()
    live = await limited.begin(script({"wait_file": str(gate)}, text("done")))
    set_events(leaf(limited), oom=2, oom_kill=2)
    lost = f"The kernel killed 2 tool processes of it {OWN}; claude itself went on."
    await until(lambda: live.run is not None and live.run.usage.oom_survived == 2, "it to be seen")
    running, said = await limited.service.status("agent")
    assert running.state is State.RUNNING
    assert (running.oom_kills, running.oom_scope) == (2, "run")
    assert lost in said
    gate.touch()

    view = await limited.ended()

    assert (view.state, view.cause, view.oom_kills) == (State.IDLE, None, 2)
    (notice,) = await limited.notices()
    assert notice["kind"] == "finished"
    assert "finished its turn" in notice["text"]
    await told(limited, lost)


async def test_a_tool_at_the_services_limit_is_told_with_that_limit(limited: House) -> None:
    gate = limited.gate()
    live = await limited.begin(script({"wait_file": str(gate)}, text("done")))
    set_events(unit(limited), "memory.events.local", oom=1, oom_kill=0)
    set_events(leaf(limited), oom=0, oom_kill=1)
    await until(lambda: live.run is not None and live.run.usage.oom_survived == 1, "it to be seen")
    gate.touch()
    await limited.ended()
    await told(limited, "killed a tool of it at the limit of the whole service; claude itself went")


async def test_a_sigkill_long_after_a_tools_death_is_somebodys(limited: House) -> None:
    live = await begin_to_work(limited)
    set_events(leaf(limited), oom=1, oom_kill=1)
    await until(lambda: live.run is not None and live.run.usage.oom_survived == 1, "it to be seen")
    os.kill(pid_of(live), signal.SIGKILL)
    view = await limited.ended()
    assert (view.cause, view.signal, view.oom_kills) == (Cause.SIGNAL, "SIGKILL", 1)
    await told(limited, f"The kernel killed a tool of it {OWN}")


async def test_a_call_can_lower_the_limit_and_the_session_keeps_it(limited: House) -> None:
    gate = limited.gate()
    await limited.begin(script({"wait_file": str(gate)}, text("x")), memory_max="256M")
    assert (leaf(limited) / "memory.max").read_text() == str(256 * MIB)
    gate.touch()
    assert (await limited.ended()).memory_max_bytes == 256 * MIB
    gate.unlink()
    waits = script({"wait_file": str(gate)}, text("x"))
    await limited.service.continue_("agent", waits)
    assert (leaf(limited) / "memory.max").read_text() == str(256 * MIB)
    gate.touch()
    await limited.ended()
    await limited.service.continue_("agent", script(text("x")), options=Options(memory_max=""))
    assert (await limited.ended()).memory_max_bytes == 512 * MIB


async def test_a_limit_that_the_run_has_lifted_is_told_with_the_one_that_held(
    limited: House,
) -> None:
    gate = limited.gate()
    await limited.begin(script({"wait_file": str(gate)}, text("x")))
    (leaf(limited) / "memory.max").write_text("max\n")
    gate.touch()
    assert (await limited.ended()).memory_max_bytes is None
    (notice,) = await limited.notices()
    assert "Its memory limit of 512 MiB did not hold: at the end there was none." in notice["text"]


async def test_a_sigkill_without_an_account_of_memory_is_not_said_to_come_from_outside(
    limited: House,
) -> None:
    live = await begin_to_work(limited)
    (leaf(limited) / "memory.events").unlink()
    os.kill(pid_of(live), signal.SIGKILL)
    view = await limited.ended()
    assert (view.state, view.cause, view.signal) == (State.KILLED, None, "SIGKILL")
    assert view.oom_kills is None
    await told(limited, "ended by SIGKILL; whether it was out of memory is not known")


async def test_a_death_for_memory_before_the_first_event_names_limit_peak_and_mend(
    limited: House,
) -> None:
    gate = limited.gate()
    brief = limited.brief(script(at_start=[{"touch": str(gate)}, {"hang": True}]))
    start = asyncio.ensure_future(limited.service.start("agent", brief))
    await until(gate.exists, "the start")
    (live,) = limited.executor.registry.live
    (leaf(limited) / "memory.peak").write_text(f"{512 * MIB}\n")
    set_events(leaf(limited), oom=1, oom_kill=1)
    os.kill(pid_of(live), signal.SIGKILL)
    with pytest.raises(Refused) as refusal:
        await start
    assert str(refusal.value) == (
        "subagent `agent` died before its first event: out of memory: the kernel killed claude"
        f" {OWN}; its peak was 512 MiB. Give it more `memory_max`"
    )


async def test_a_kept_limit_that_does_not_fit_any_more_is_refused_with_its_own_mend(
    limited: House, tmp_path: Path
) -> None:
    """Nobody has given it in this call, so nobody can leave it out."""
    await limited.run(script(text("x")), memory_max="256M")
    record = limited.executor.registry.record("agent")
    assert record is not None
    asked = script(text("x"))
    limited.executor.registry.remember(record.model_copy(update={"memory_max": 600 * MIB}))

    with pytest.raises(Refused, match=r"from an earlier call\) is above .*or an empty one"):
        await limited.service.continue_("agent", asked)
    with pytest.raises(Refused, match="it may only lower it"):
        await limited.service.continue_("agent", asked, options=Options(memory_max="1G"))

    await limited.service.continue_("agent", asked, options=Options(memory_max=""))
    assert (await limited.ended()).memory_max_bytes == 512 * MIB


async def test_an_end_that_cannot_be_seen_is_not_claimed(
    anyio_backend: str, tmp_path: Path
) -> None:
    """Neither by the receipt of an interrupt nor by the notice."""
    hierarchy, _ = plain_unit(tmp_path)
    async with house(tmp_path, hierarchy=hierarchy, bound_s=0.2) as home:
        await begin_to_work(home)
        procs = leaf(home) / "cgroup.procs"
        procs.unlink()
        procs.mkdir()
        set_events(leaf(home), "cgroup.events", populated=1)

        reply, said = await home.service.interrupt("agent", force=True)

        assert not reply.ended
        (notice,) = await home.notices()
        for told in (said, notice["text"]):
            assert "Not all of it is known to be dead: what else there is" in told
            assert f"({procs}: Is a directory)" in told


async def test_no_call_can_raise_the_limit(limited: House) -> None:
    with pytest.raises(Refused, match="it may only lower it"):
        await limited.begin(script(text("x")), memory_max="1G")
    assert list(unit(limited).glob("run-*")) == []
    assert list((limited.root / "state" / "sessions").iterdir()) == []


async def test_a_limit_that_nothing_can_hold_is_refused_and_nothing_ran(home: House) -> None:
    """Never silently ignored."""
    with pytest.raises(Refused, match="no cgroup can hold it") as refusal:
        await home.begin(script(bash("touch ran")), memory_max="1G")
    assert len(str(refusal.value).splitlines()) == 1
    assert not (home.root / "work" / "ran").exists()
    assert list((home.root / "state" / "sessions").iterdir()) == []


def test_a_daemon_that_cannot_hold_its_limit_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(tmp_path, monkeypatch, capsys, memory_max="512M")
    assert code == 2
    assert said.startswith("hive-subagent-daemon: setting memory_max: no cgroup can hold it (")
    assert "leave it out" in said
