"""The life of one run, from the reserved name to its end: which phase follows which.

    queued ──> reserved ──> starting ──> running ──> ending ──> ended
       │           └───────────┴──────────────────────^            ^
       └───────────────────────────────────────────────────────────┘

Only a child of a delegation is queued. The executor creates a `Lifecycle`, is the only one to write
to it, and hands it to nobody: all others get its `LiveSession`, which reads it.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import anyio

from hive_subagent.claude.session_lock import TranscriptLock
from hive_subagent.errors import Refused, SubagentError
from hive_subagent.messages import sessions
from hive_subagent.models.replies import StartReply
from hive_subagent.models.session import Cause, SessionView
from hive_subagent.sessions.ending import Ending, Failed, Killed, ending_without_result
from hive_subagent.sessions.finish import Finish, ending_of
from hive_subagent.sessions.idle_tracker import Silence
from hive_subagent.sessions.launch import Launch
from hive_subagent.sessions.order import Signals
from hive_subagent.sessions.run import Run
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.sessions.view import live_view


class Phase(StrEnum):
    """Where a run is in its life."""

    QUEUED = "queued"
    """Its name is reserved, and it waits for a place."""
    RESERVED = "reserved"
    """It has a place."""
    STARTING = "starting"
    """Its enclosure is there, and claude is being started."""
    RUNNING = "running"
    """The call that started it was answered well: its ending is owed."""
    ENDING = "ending"
    """Nothing more is said to claude: it may still exit by itself, and then its tree is ended."""
    ENDED = "ended"
    """Nothing of it is left, and its name is free."""


NEXT: Mapping[Phase, frozenset[Phase]] = {
    Phase.QUEUED: frozenset({Phase.RESERVED, Phase.ENDED}),
    Phase.RESERVED: frozenset({Phase.STARTING, Phase.ENDING}),
    Phase.STARTING: frozenset({Phase.RUNNING, Phase.ENDING}),
    Phase.RUNNING: frozenset({Phase.ENDING}),
    Phase.ENDING: frozenset({Phase.ENDED}),
    Phase.ENDED: frozenset(),
}


class Lifecycle:
    """The state of one run and of its session; written by its executor alone."""

    def __init__(self, launch: Launch, *, queued: bool = False) -> None:
        self.launch = launch
        self.run_id = str(uuid.uuid4())
        self.phase = Phase.QUEUED if queued else Phase.RESERVED
        self.record = launch.record
        self.lock = launch.lock
        self.signals = Signals(Path(launch.record.dir))
        self.run: Run | None = None
        self.answer: asyncio.Future[StartReply] = asyncio.get_running_loop().create_future()
        # the caller may be gone when it is refused
        self.answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.refusal: SubagentError | None = None
        # claude had its task, and was ended since its beginning could not be kept
        self.given_up = False
        # whether claude had printed anything when the call was answered
        self.had_event = False
        self.began_at: float | None = None
        self.owed = False
        # its ending is with the outbox, or with its delegation
        self.reported = False
        self.further: tuple[str, ...] = ()
        self.over = anyio.Event()
        self.since = time.monotonic()
        self._stopped_by: Cause | None = None
        self.session = LiveSession(self)

    def reserve(self) -> None:
        """It has a place now."""
        self._enter(Phase.RESERVED)

    def start(self, run: Run) -> None:
        """Its run is there; a stop that came before counts for it."""
        self._enter(Phase.STARTING)
        self.run = run
        self.since = time.monotonic()
        if self._stopped_by is not None:
            run.stop(self._stopped_by, step_s=0, force=True)

    def confirm(self) -> None:
        """It lives, and what it owes is on the disk."""
        self._enter(Phase.RUNNING)
        self.owed = True
        self.began_at = time.monotonic()

    def end(self) -> None:
        """From wherever it is, unless it ends already."""
        if self.phase is not Phase.ENDING:
            self._enter(Phase.ENDING)

    def finish(self) -> None:
        """Nothing of it is left."""
        self._enter(Phase.ENDED)
        self.over.set()

    def _enter(self, phase: Phase) -> None:
        if phase not in NEXT[self.phase]:
            raise RuntimeError(f"a run that is {self.phase} cannot be {phase}")
        self.phase = phase

    def stop(self, cause: Cause, *, step_s: float, force: bool) -> None:
        """Stop the run, or keep the cause until there is one."""
        if self.run is not None:
            self.run.stop(cause, step_s=step_s, force=force)
        elif self._stopped_by is None:
            self._stopped_by = cause

    @property
    def stopped_by(self) -> Cause | None:
        """What stopped the run, or its beginning."""
        return self.run.stopped_by if self.run is not None else self._stopped_by

    def refuse(self, error: SubagentError) -> None:
        """Answer the call with an error, unless it has its answer."""
        if not self.answer.done():
            self.refusal = error
            if not isinstance(error, Refused):
                error = Refused(str(error), kind="failed", name=error.name, path=error.path)
            self.answer.set_exception(error)

    def ending(self, finish: Finish, *, result_file: str | None = None) -> Ending:
        """The ending that a finish is for this run."""
        assert self.run is not None
        return ending_of(
            finish,
            self.launch.order,
            self.signals,
            run_id=self.run_id,
            containment=self.run.containment,
            before=self.record.ending,
            resumed=self.session.resumed,
            result_file=result_file,
        )

    def broken_ending(self) -> Ending:
        """The ending of a run that a fault of ours has ended."""
        return ending_without_result(Failed(), run_id=self.run_id, message=sessions.BROKEN)

    def ending_without_session(self) -> Ending:
        """The ending of a child that never began, or whose beginning could not be kept."""
        # nobody else stopped what was given up
        cause = None if self.given_up else self.stopped_by
        if cause is not None:
            return ending_without_result(Killed(cause=cause), left_session=False)
        why = str(self.refusal) if self.refusal is not None else sessions.BROKEN
        message = f"{why}. {sessions.GIVEN_UP}" if self.given_up else why
        return ending_without_result(Failed(), message=message, left_session=False)

    def set_ending(self, ending: Ending) -> None:
        """The session's record holds this ending."""
        self.record = self.record.with_ending(ending)


class LiveSession:
    """A session while one of its runs goes on, as everybody but its executor has it.

    It reads the state of the run and can ask for its stop; it changes nothing else.
    """

    def __init__(self, life: Lifecycle) -> None:
        self._life = life
        self._silence = Silence()

    @property
    def phase(self) -> Phase:
        """Where its run is."""
        return self._life.phase

    @property
    def record(self) -> SessionRecord:
        """What is kept of it, as it stands; with the ending of its run once there is one."""
        return self._life.record

    @property
    def run(self) -> Run | None:
        """Its run, once there is one."""
        return self._life.run

    @property
    def lock(self) -> TranscriptLock | None:
        """The lock on its transcript, once it is held."""
        return self._life.lock

    @property
    def resumed(self) -> bool:
        """Whether the session was there before this run."""
        return self._life.launch.resume is not None

    @property
    def queued(self) -> bool:
        """Whether it waits for a place."""
        return self._life.phase is Phase.QUEUED

    @property
    def owed(self) -> bool:
        """Whether the ending of its run is reported: its call was answered well."""
        return self._life.owed

    @property
    def further(self) -> tuple[str, ...]:
        """Sentences that its delegation's notice adds to its ending."""
        return self._life.further

    @property
    def over(self) -> anyio.Event:
        """Set once nothing of its run is left."""
        return self._life.over

    def stop(self, cause: Cause, *, step_s: float, force: bool = False) -> None:
        """Stop the run, also one whose name is only reserved yet."""
        self._life.stop(cause, step_s=step_s, force=force)

    def look(self) -> None:
        """Keep the evidence of life up to date."""
        if self.run is not None and self.run.claude is not None:
            run, conversation = self.run, self.run.claude.conversation
            self._silence.look(conversation.last_line_at, lambda: run.usage.cpu_s)

    def view(self) -> SessionView:
        """The session as it stands."""
        life = self._life
        return live_view(life.record, life.run, self._silence, queued=self.queued, since=life.since)
