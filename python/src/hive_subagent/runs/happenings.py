"""What is told of a run as it happens: that its own work began, and that it ended."""

from __future__ import annotations

import time

from hive_subagent.notices import RunEvent
from hive_subagent.runs.session import LiveSession, now


def started(session: LiveSession, run_id: str) -> RunEvent:
    """Its own work begins now."""
    record = session.record
    return RunEvent(
        event="subagent_started",
        id=run_id,
        name=record.name,
        session_id=record.session_id,
        dir=record.dir,
        role=record.role,
        delegation=record.delegation,
        at=now(),
    )


def finished(session: LiveSession) -> RunEvent:
    """It has ended, as its record says."""
    ending = session.record.ending
    assert ending is not None
    began = session.begun_at
    return started(session, ending.run_id).model_copy(
        update={
            "event": "subagent_finished",
            "at": ending.at,
            "state": ending.state,
            "stop_reason": ending.stop_reason,
            "cause": ending.cause,
            "signal": ending.signal,
            "cost_usd": ending.cost_usd,
            "duration_s": None if began is None else round(time.monotonic() - began, 3),
        }
    )
