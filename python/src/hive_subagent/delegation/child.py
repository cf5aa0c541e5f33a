"""One child of a delegation: its session, and how that ended as the delegation tells it."""

from __future__ import annotations

from dataclasses import dataclass

from hive_subagent.messages import sessions
from hive_subagent.models.session import Cause, SessionView
from hive_subagent.sessions.ending import Failed, Killed, ending_without_result
from hive_subagent.sessions.launch import Launch
from hive_subagent.sessions.session import LiveSession
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.sessions.view import ended_view


@dataclass
class Child:
    """`trouble` is why its run could not be started, if it could not.

    `timeout_s` is the time for its own work.
    """

    launch: Launch
    session: LiveSession
    timeout_s: float
    begun: bool = False
    stopped_by: Cause | None = None
    trouble: str | None = None

    @property
    def name(self) -> str:
        """What its session is called."""
        return self.launch.record.name

    @property
    def record(self) -> SessionRecord:
        """Its session with the ending of this run, once there is one."""
        return self.session.record

    def view(self) -> SessionView:
        """Its session as it stands, later runs of it aside."""
        return ended_view(self.record) if self.record.ending else self.session.view()

    def stop(self, cause: Cause, *, step_s: float, force: bool) -> None:
        """Stop its run, unless it is over."""
        if self.session.over.is_set():
            return
        if self.stopped_by is None:
            self.stopped_by = cause
        self.session.stop(cause, step_s=step_s, force=force)

    def without_a_run(self) -> None:
        """Give it an ending where its run left none: it never began, or that could not be kept."""
        if self.record.ending is not None:
            return
        given_up = self.session.given_up
        # what we gave up, nobody else stopped
        cause = None if given_up else self.stopped_by or self.session.stopped_by
        trouble = f"{given_up}. {sessions.GIVEN_UP}" if given_up else self.trouble
        ending = ending_without_result(
            Killed(cause=cause) if cause is not None else Failed(),
            message=None if cause is not None else trouble or sessions.BROKEN,
            left_session=False,
        )
        self.session.record = self.record.model_copy(update={"ending": ending})
