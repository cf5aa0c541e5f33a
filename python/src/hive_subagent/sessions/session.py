"""A session while one of its runs is going on."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio

from hive_subagent.claude.session_lock import TranscriptLock
from hive_subagent.containment import Usage
from hive_subagent.models.session import Cause, Processes, SessionView, State
from hive_subagent.sessions.finish import not_connected, usage_figures
from hive_subagent.sessions.idle_tracker import Silence
from hive_subagent.sessions.run import Run
from hive_subagent.sessions.store import SessionRecord


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
            mcp_servers=not_connected(conversation),
            cpu_since_event_s=self._silence.used(last, usage.cpu_s) if usage else None,
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


def _processes(usage: Usage) -> Processes:
    return Processes(
        running=usage.running,
        sleeping=usage.sleeping,
        stopped=usage.stopped,
        frozen=usage.frozen,
    )
