"""One child of a delegation."""

from __future__ import annotations

from dataclasses import dataclass

from hive_subagent.models.session import Cause, SessionView
from hive_subagent.sessions.launch import Launch
from hive_subagent.sessions.lifecycle import LiveSession
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.sessions.view import ended_view


@dataclass(frozen=True)
class Assignment:
    """A launch, and the seconds that the child has for its own work."""

    launch: Launch
    timeout_s: float

    @property
    def name(self) -> str:
        """The name of its session."""
        return self.launch.record.name


@dataclass
class Child:
    """An assignment and its session; `begun` says that its run was answered well."""

    assignment: Assignment
    session: LiveSession
    begun: bool = False

    @property
    def name(self) -> str:
        """The name of its session."""
        return self.assignment.name

    @property
    def record(self) -> SessionRecord:
        """Its session with the ending of this run, once there is one."""
        return self.session.record

    def view(self) -> SessionView:
        """Its session as it stands, later runs of it aside."""
        return ended_view(self.record) if self.record.ending else self.session.view()

    def stop(self, cause: Cause, *, step_s: float, force: bool) -> None:
        """Stop its run, unless it is over."""
        if not self.session.over.is_set():
            self.session.stop(cause, step_s=step_s, force=force)
