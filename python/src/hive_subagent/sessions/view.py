"""A session as its owner sees it, while it runs and after that."""

from __future__ import annotations

import time

from hive_subagent.containment import Usage
from hive_subagent.models.replies import StartReply
from hive_subagent.models.session import Previous, Processes, SessionView, State
from hive_subagent.sessions.finish import not_connected, usage_figures
from hive_subagent.sessions.idle_tracker import Silence
from hive_subagent.sessions.run import Run
from hive_subagent.sessions.store import SessionRecord


def live_view(
    record: SessionRecord, run: Run | None, silence: Silence, *, queued: bool, since: float
) -> SessionView:
    """The session of a run that is not over; `since` is when it was begun, monotonic."""
    claude = run.claude if run else None
    conversation = claude.conversation if claude else None
    last = conversation.last_line_at if conversation else since
    usage = run.usage if run and claude else None
    running = conversation is not None and conversation.begun
    return SessionView(
        name=record.name,
        session_id=record.session_id,
        dir=record.dir,
        state=State.QUEUED if queued else (State.RUNNING if running else State.STARTING),
        turn=run.turn if run else 1,
        max_turns=run.order.max_turns if run else 1,
        turn_timeout_s=run.order.turn_timeout_s if run else None,
        age_s=round(time.monotonic() - since, 3),
        last_event_age_s=None if queued else round(max(0.0, time.monotonic() - last), 3),
        open_tool=conversation.open_tool if conversation else None,
        api_retry=conversation.api_retry if conversation else None,
        mcp_servers=not_connected(conversation),
        cpu_since_event_s=silence.used(last, usage.cpu_s) if usage else None,
        processes=_processes(usage) if usage else None,
        interventions=list(run.steering.pending()) if run and run.steering else [],
        answers=len(conversation.spoken.answers) or None if conversation else None,
        background=conversation.background.shown() if conversation else [],
        background_wait_s=run.order.background_wait_s if run else None,
        **(usage_figures(usage) if usage else {}),
        containment=run.containment if run else None,
        goal=record.goal,
        report_file=record.report_file,
        role=record.role,
        delegation=record.delegation,
    )


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
        ended_at=ending.at if ending else None,
        result_cut=ending.result_cut if ending else False,
        **(ending.figures() if ending else {}),
    )


def start_reply(record: SessionRecord, pid: int, *, archived: int, resumed: bool) -> StartReply:
    """The answer of `start` and `continue`."""
    return StartReply(
        name=record.name,
        session_id=record.session_id,
        dir=record.dir,
        pid=pid,
        archived=archived,
        previous=previous_of(record) if resumed else None,
    )


def previous_of(record: SessionRecord) -> Previous | None:
    """How the last run of a session ended, if that is known."""
    ending = record.ending
    if ending is None:
        return None
    return Previous(state=ending.state, cause=ending.cause, signal=ending.signal)


def _processes(usage: Usage) -> Processes:
    return Processes(
        running=usage.running,
        sleeping=usage.sleeping,
        stopped=usage.stopped,
        frozen=usage.frozen,
    )
