"""A session while one of its runs is going on."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import anyio

from hive_subagent.claude.conversation import Conversation
from hive_subagent.claude.outcome import Failed, Killed, Outcome, Stopped
from hive_subagent.claude.session_lock import TranscriptLock
from hive_subagent.containment import Usage
from hive_subagent.messages.text import LAST_TEXT_LIMIT, RESULT_LIMIT, fit, joined, shortened
from hive_subagent.models.session import (
    Cause,
    FailureCause,
    McpServerStatus,
    Previous,
    Processes,
    RunFigures,
    SessionView,
    State,
    StopReason,
)
from hive_subagent.sessions.idle_tracker import Silence
from hive_subagent.sessions.order import Finish, Signals
from hive_subagent.sessions.run import Run
from hive_subagent.sessions.store import Ending, SessionRecord


class LiveSession:
    """A record, the run that is adding to it, and what only lasts as long as that run."""

    def __init__(
        self, record: SessionRecord, *, resumed: bool, lock: TranscriptLock | None = None
    ) -> None:
        self.record = record
        self.lock = lock
        self.resumed = resumed
        self.run: Run | None = None
        # while it waits for a place: how its owner takes it out of the queue
        self.withdraw: Callable[[Cause], None] | None = None
        self.queued = False
        self.further: tuple[str, ...] = ()
        self.begun_at: float | None = None
        self.begun = False
        self.owed = False
        # its ending is with the outbox, or with its delegation
        self.told = False
        # why it was ended by us as soon as it had begun
        self.given_up: str | None = None
        self.over = anyio.Event()
        self._since = time.monotonic()
        self._silence = Silence()
        self._stopped_by: Cause | None = None

    def attach(self, run: Run) -> None:
        """The reserved name has its run now; a stop that came before counts for it."""
        self.run = run
        self._since = time.monotonic()
        if self._stopped_by is not None:
            run.stop(self._stopped_by, step_s=0, force=True)

    def stop(self, cause: Cause, *, step_s: float, force: bool = False) -> None:
        """Stop the run, also one whose name is only reserved yet."""
        if self.queued and self.withdraw is not None:
            self.withdraw(cause)
        elif self.run is not None:
            self.run.stop(cause, step_s=step_s, force=force)
        elif self._stopped_by is None:
            self._stopped_by = cause

    @property
    def stopped_by(self) -> Cause | None:
        """What stopped the run, or its beginning."""
        return self.run.stopped_by if self.run is not None else self._stopped_by

    def look(self) -> None:
        """Keep the evidence of life up to date."""
        if self.run is not None and self.run.claude is not None:
            run, conversation = self.run, self.run.claude.conversation
            self._silence.look(conversation.last_line_at, lambda: run.usage.cpu_s)

    def view(self) -> SessionView:
        """The session as it stands."""
        record, run = self.record, self.run
        claude = run.claude if run else None
        conversation = claude.conversation if claude else None
        last = conversation.last_line_at if conversation else self._since
        usage = run.usage if run and claude else None
        running = conversation is not None and conversation.begun
        return SessionView(
            name=record.name,
            session_id=record.session_id,
            dir=record.dir,
            state=State.QUEUED if self.queued else (State.RUNNING if running else State.STARTING),
            turn=run.turn if run else 1,
            max_turns=run.order.max_turns if run else 1,
            turn_timeout_s=run.order.turn_timeout_s if run else None,
            last_event_age_s=None if self.queued else round(max(0.0, time.monotonic() - last), 3),
            open_tool=conversation.open_tool if conversation else None,
            api_retry=conversation.api_retry if conversation else None,
            mcp_servers=_not_connected(conversation),
            cpu_since_event_s=self._silence.used(last, usage.cpu_s) if usage else None,
            processes=_processes(usage) if usage else None,
            interventions=list(run.steering.pending()) if run and run.steering else [],
            answers=len(conversation.spoken.answers) or None if conversation else None,
            background=conversation.background.shown() if conversation else [],
            background_wait_s=run.order.background_wait_s if run else None,
            **(_figures(usage) if usage else {}),
            containment=run.containment if run else None,
            goal=record.goal,
            report_file=record.report_file,
            role=record.role,
            delegation=record.delegation,
        )


def ended_view(record: SessionRecord) -> SessionView:
    """A session that does not run, by the ending kept with it."""
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
        result_cut=ending.result_cut if ending else False,
        **(ending.model_dump(include=set(RunFigures.model_fields)) if ending else {}),
    )


def previous_of(record: SessionRecord) -> Previous | None:
    """How the last run of a session ended, if that is known."""
    ending = record.ending
    if ending is None:
        return None
    return Previous(state=ending.state, cause=ending.cause, signal=ending.signal)


def ending_of(
    session: LiveSession, run: Run, finish: Finish, *, result_file: str | None = None
) -> Ending:
    """Put what happened into the terms of the contract."""
    state, reason, message = _classify(run, finish.outcome)
    if run.steering is not None and (stop := run.steering.stop_reason) is not None:
        state, reason, message = _stopped(state, reason, message, stop, run)
    outcome = finish.outcome
    text, cut = joined([answer.text for answer in finish.answers])
    total, cost = _cost(session, finish)
    return Ending(
        run_id=run.run_id,
        state=state,
        stop_reason=reason,
        cause=outcome.cause if isinstance(outcome, Killed | Failed) else None,
        signal=outcome.signal if isinstance(outcome, Killed) else None,
        message=fit(message) if message else None,
        resets_at=_resets_at(run, outcome),
        result=text,
        result_cut=cut,
        result_file=result_file,
        last_text=_last_text(run, outcome),
        mcp_servers=_not_connected(run.claude.conversation if run.claude else None),
        answers=len(finish.answers) or None,
        result_beside_tool=bool(finish.answers) and finish.answers[-1].beside_tool,
        ended_background=list(finish.ended_background),
        ended_processes=list(finish.ended_processes),
        warning=finish.warning,
        turn=run.turn,
        max_turns=run.order.max_turns,
        turn_timeout_s=run.order.turn_timeout_s,
        background_wait_s=run.order.background_wait_s,
        cost_usd=cost,
        cost_total=total,
        **_figures(finish.usage),
        containment=run.containment,
        at=now(),
    )


def _not_connected(conversation: Conversation | None) -> list[McpServerStatus]:
    mcp = conversation.mcp if conversation is not None else None
    return mcp.not_connected if mcp is not None else []


def _processes(usage: Usage) -> Processes:
    return Processes(
        running=usage.running,
        sleeping=usage.sleeping,
        stopped=usage.stopped,
        frozen=usage.frozen,
    )


def _figures(usage: Usage) -> dict[str, Any]:
    return {
        "cpu_s": None if usage.cpu_s is None else round(usage.cpu_s, 3),
        "peak_memory_bytes": usage.peak_memory_bytes,
        "memory_max_bytes": usage.memory_max_bytes,
        "oom_kills": usage.oom_kills,
        "oom_scope": usage.oom_scope,
        "pids_max": usage.pids_max,
        "pids_refused": usage.pids_refused,
        "left_memory_bytes": usage.left_memory_bytes,
    }


def now() -> str:
    """RFC 3339, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rfc3339(seconds: float) -> str | None:
    """Seconds since 1970 in the same form, to the second; None for what is no possible time."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None


def _last_text(run: Run, outcome: Outcome) -> str | None:
    """What a run said last that gave no answer, where it said anything."""
    if run.claude is None or not isinstance(outcome, Killed | Failed | Stopped):
        return None
    said = run.claude.conversation.last_text.strip()
    return shortened(said, limit=LAST_TEXT_LIMIT) if said else None


def _resets_at(run: Run, outcome: Outcome) -> str | None:
    """When the limit ends that a run failed at, where claude has told."""
    limited = isinstance(outcome, Failed) and outcome.cause is FailureCause.RATE_LIMIT
    if not limited or run.claude is None or run.claude.conversation.resets_at is None:
        return None
    return rfc3339(run.claude.conversation.resets_at)


def _classify(run: Run, outcome: Outcome) -> tuple[State, StopReason, str | None]:
    signals = run.signals
    match outcome:
        case Killed(message=message):
            return State.KILLED, StopReason.KILLED, _words(message, signals)
        case Failed(message=message):
            return State.FAILED, StopReason.FAILED, _words(message, signals)
        case Stopped():
            return State.IDLE, StopReason.STOPPED, None
    if signals.need_help is not None:
        return State.NEED_HELP, StopReason.NEED_HELP, signals.need_help
    if signals.goal_reached is not None:
        return State.IDLE, StopReason.GOAL_REACHED, signals.goal_reached or None
    if run.order.goal is not None:
        return State.IDLE, StopReason.TURN_CAP, None
    return State.IDLE, StopReason.TURN_ENDED, None


def _words(message: str | None, signals: Signals) -> str | None:
    """What is known of a turn that broke, what its subagent had said before included."""
    if not signals.given:
        return message
    said = (
        f"Before that it asked for help: {signals.need_help}"
        if signals.need_help is not None
        else f"Before that it reported its goal reached. {signals.goal_reached}".strip()
    )
    return "\n".join([*([fit(message, limit=RESULT_LIMIT // 2)] if message else []), said])


def _stopped(
    state: State, reason: StopReason, message: str | None, stop: str, run: Run
) -> tuple[State, StopReason, str | None]:
    """What an owner's stop makes of an ending: its doing or not."""
    by_ladder = state is State.KILLED and run.stopped_by is Cause.INTERRUPT
    between_turns = reason is StopReason.TURN_CAP and run.turn < run.order.max_turns
    if reason is StopReason.STOPPED or by_ladder or between_turns:
        return state, StopReason.STOPPED, _words(stop, run.signals)
    return state, reason, message


def _cost(session: LiveSession, finish: Finish) -> tuple[float | None, float | None]:
    """Claude's figure, and this run's share of it; None where one is not known."""
    before = session.record.ending.cost_total if session.record.ending else None
    total = finish.cost_total
    if total is None:
        return before, None
    if not session.resumed or not finish.cost_is_of_the_session:
        return total, total
    if before is None:
        return total, None
    return total, max(0.0, round(total - before, 9))
