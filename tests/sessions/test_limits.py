"""Limits that a run has met, as its owner reads of them (issue 10, 18 to 20)."""

from __future__ import annotations

from typing import Any

from hive_subagent.messages import advice, sessions
from hive_subagent.messages.endings import ending
from hive_subagent.models.session import Cause, Processes, SessionView, State, StopReason


def view(**fields: Any) -> SessionView:
    known = {"name": "a", "session_id": "s", "dir": "/d", "state": State.RUNNING}
    return SessionView(**{**known, **fields})


def running(**fields: Any) -> str:
    return sessions.describe(view(last_event_age_s=1.0, cpu_since_event_s=0.0, **fields))


def test_a_run_at_its_limit_of_processes_is_said_to_be_there() -> None:
    told = running(processes=Processes(running=1, sleeping=573), pids_max=574, pids_refused=12)
    assert (
        "At its limit of 574 processes and threads the kernel refused it a new one 12 times" in told
    )
    assert "refused" not in running(pids_max=574, pids_refused=0)
    ended = ending(
        view(state=State.IDLE, stop_reason=StopReason.TURN_ENDED, pids_max=574, pids_refused=1)
    )
    assert "refused it a new one once" in ended


def test_a_frozen_run_is_not_told_as_sleeping_only() -> None:
    frozen = Processes(running=0, sleeping=3, frozen=True)
    assert "Its cgroup is FROZEN" in running(processes=frozen)
    assert "FROZEN" not in running(processes=Processes(running=0, sleeping=3))


def test_a_run_that_died_at_the_services_limit_hears_of_memory_that_no_run_holds() -> None:
    died: dict[str, Any] = {
        "state": State.KILLED,
        "stop_reason": StopReason.KILLED,
        "cause": Cause.OOM,
        "signal": "SIGKILL",
        "oom_kills": 1,
        "oom_scope": "service",
    }
    told = ending(view(**died, left_memory_bytes=200 << 20))
    assert "200 MiB of the service's memory belong to no living run" in told
    assert "belong to no living run" not in ending(view(**died, left_memory_bytes=1 << 20))


def test_little_memory_without_a_run_is_not_worth_a_word() -> None:
    assert advice.left_memory(None) == ""
    assert advice.left_memory(advice.LEFT_WORTH_SAYING - 1) == ""
    assert "/dev/shm" in advice.left_memory(advice.LEFT_WORTH_SAYING)
