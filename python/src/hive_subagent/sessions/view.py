"""A session that does not run, as its owner sees it."""

from __future__ import annotations

from hive_subagent.models.session import Previous, SessionView, State
from hive_subagent.sessions.store import SessionRecord


def ended_view(record: SessionRecord) -> SessionView:
    """The session by the ending kept with it."""
    ending = record.ending
    return SessionView(
        name=record.name,
        session_id=record.session_id,
        dir=record.dir,
        goal=record.goal,
        report_file=record.report_file,
        role=record.role,
        delegation=record.delegation,
        state=ending.state if ending else State.IDLE,
        stop_reason=ending.stop_reason if ending else None,
        cause=ending.cause if ending else None,
        signal=ending.signal if ending else None,
        result_cut=ending.result_cut if ending else False,
        **(ending.figures() if ending else {}),
    )


def previous_of(record: SessionRecord) -> Previous | None:
    """How the last run of a session ended, if that is known."""
    ending = record.ending
    if ending is None:
        return None
    return Previous(state=ending.state, cause=ending.cause, signal=ending.signal)
