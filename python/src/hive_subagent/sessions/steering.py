"""What a run asks of whoever may steer it while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import anyio

from hive_subagent.claude import hooks
from hive_subagent.claude.process import RunningClaude
from hive_subagent.models.session import PendingIntervention, Undelivered
from hive_subagent.sessions.store import SessionRecord

Keep = Callable[[tuple[Undelivered, ...]], None]


class Steering(hooks.Steering, Protocol):
    """The hand on one run. Every method answers at once."""

    @property
    def stop_reason(self) -> str | None:
        """Why its owner wants the run stopped, if it does."""

    @property
    def halted(self) -> bool:
        """Whether claude was answered with a halt."""

    def before(self, prompt: str) -> hooks.Prompt:
        """The next prompt, with what is to stand before it. It has to be sent."""

    def hush(self) -> None:
        """The turn is being cut: hand over nothing more."""

    def pending(self) -> Sequence[PendingIntervention]:
        """What has not arrived yet, oldest first."""

    def leave(self, *, stopped: bool = False) -> tuple[Undelivered, ...]:
        """The run is over, by its owner's stop or not; what did not arrive. May be called again."""


class SteeredRun(Protocol):
    """A run, for its steering."""

    @property
    def claude(self) -> RunningClaude | None:
        """Its claude, once that is started."""

    @property
    def idles(self) -> bool:
        """Whether claude does nothing itself and only waits for its background tasks."""

    def can_redirect(self) -> bool:
        """Whether its work is not done yet, and no stop is on its way."""

    def redirect(self, prompt: hooks.Prompt) -> None:
        """Cut what claude does and give it this instead, where it `can_redirect`."""

    def stop_later(self, after_s: float) -> None:
        """Interrupt the run unless it is over within `after_s`."""


class SteeredSession(Protocol):
    """The session of a run, for its steering: to be read only."""

    @property
    def record(self) -> SessionRecord:
        """What is kept of it, as it stands."""

    @property
    def run(self) -> SteeredRun | None:
        """Its run, once there is one."""

    @property
    def resumed(self) -> bool:
        """Whether the session was there before this run."""

    @property
    def queued(self) -> bool:
        """Whether it waits for a place."""

    @property
    def owed(self) -> bool:
        """Whether the ending of its run is reported."""

    @property
    def over(self) -> anyio.Event:
        """Set once nothing of its run is left."""


class Steerings(Protocol):
    """Gives each run its steering."""

    def open(self, session: SteeredSession, *, keep: Keep) -> Steering:
        """For a run that is about to begin; `session.run` is not there yet.

        `keep` is given what is undelivered now, whenever that changes.
        """

    def close(self, session: SteeredSession) -> None:
        """Nothing is left of its run, whose steering was left. May be called again."""
