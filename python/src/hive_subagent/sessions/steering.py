"""What a run asks of whoever may steer it while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from hive_subagent.claude import hooks
from hive_subagent.models.session import PendingIntervention, Undelivered

if TYPE_CHECKING:
    from hive_subagent.sessions.session import LiveSession

Keep = Callable[[tuple[Undelivered, ...]], None]


class Steering(hooks.Steering, Protocol):
    """The hand on one run. Every method answers at once."""

    @property
    def stop_reason(self) -> str | None:
        """Why its owner wants the run stopped, if it does."""

    @property
    def halted(self) -> bool:
        """Whether claude was answered with a halt."""

    def preface(self) -> str:
        """What is to stand before the next prompt, told by `sent`; empty when nothing is."""

    def hush(self) -> None:
        """The turn is being cut: hand over nothing more."""

    def pending(self) -> Sequence[PendingIntervention]:
        """What has not arrived yet, oldest first."""

    def leave(self, *, stopped: bool = False) -> tuple[Undelivered, ...]:
        """The run is over, by its owner's stop or not; what did not arrive. May be called again."""


class Steerings(Protocol):
    """Gives each run its steering."""

    def open(self, session: LiveSession, *, keep: Keep) -> Steering:
        """For a run that is about to begin; `session.run` is not there yet.

        `keep` is given what is undelivered now, whenever that changes.
        """
