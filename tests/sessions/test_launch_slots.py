"""Runs that begin at the same time are bounded; the next ones wait in their call (issue 10, 17)."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from support.house import house
from support.stub import script, text

from hive_subagent.sessions import launch


async def test_a_start_beyond_the_slots_waits_until_another_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "LAUNCHES_PER_CORE", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    async with house(tmp_path, resume_confirm_s=60.0) as home, anyio.create_task_group() as tasks:
        gate = home.gate()
        slow = script(text("one"), before_init=[{"wait_file": str(gate)}])
        tasks.start_soon(home.service.start, "one", home.brief(slow))
        with anyio.fail_after(30):
            while home.executor.slots.borrowed_tokens == 0:
                await anyio.lowlevel.checkpoint()
        tasks.start_soon(home.service.start, "two", home.brief(script(text("two"))))
        with anyio.fail_after(30):
            while home.executor.slots.statistics().tasks_waiting == 0:
                await anyio.lowlevel.checkpoint()
        waiting = home.executor.registry.running("two")
        assert waiting is not None
        assert waiting.run is not None
        assert waiting.run.claude is None
        gate.touch()
        assert (await home.ended("one")).result == "one"
        assert (await home.ended("two")).result == "two"


async def test_a_start_that_waits_for_a_slot_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "LAUNCHES_PER_CORE", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    async with house(tmp_path, resume_confirm_s=0.5) as home, anyio.create_task_group() as tasks:
        slow = script(text("one"), before_init=[{"wait_file": str(home.gate())}])
        tasks.start_soon(home.service.start, "one", home.brief(slow))
        with anyio.fail_after(30):
            while home.executor.slots.borrowed_tokens == 0:
                await anyio.lowlevel.checkpoint()

        async def refused() -> None:
            with pytest.raises(Exception, match="interrupt"):
                await home.service.start("two", home.brief(script(text("two"))))

        tasks.start_soon(refused)
        with anyio.fail_after(30):
            while home.executor.slots.statistics().tasks_waiting == 0:
                await anyio.lowlevel.checkpoint()
        with anyio.fail_after(30):
            await home.service.interrupt("two", force=True)
            await home.service.interrupt("one", force=True)
