"""What a run asks of whoever may steer it while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hive_subagent.claude import hooks
from hive_subagent.claude.conversation import Message
from hive_subagent.models import PendingIntervention

if TYPE_CHECKING:
    from hive_subagent.runs.session import LiveSession


@dataclass(frozen=True)
class Left:
    """What did not arrive: `told` for its notice, `kept` for the session's next turn."""

    told: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class Steering(hooks.Steering, Protocol):
    """The hand on one run. Every method answers at once."""

    @property
    def stop_reason(self) -> str | None:
        """Why its owner wants the run stopped, if it does."""

    @property
    def halted(self) -> bool:
        """Whether claude was answered with a halt."""

    def preface(self) -> str:
        """What is to stand before the next prompt; empty when nothing is."""

    def prefaced(self, message: Message) -> None:
        """The message that carries the last preface."""

    def pending(self) -> Sequence[PendingIntervention]:
        """What has not arrived yet, oldest first."""

    def leave(self) -> Left:
        """The run is over; may be called again."""


class Steerings(Protocol):
    """Gives each run its steering."""

    def open(self, session: LiveSession) -> Steering:
        """For a run that is about to begin; `session.run` is not there yet."""
