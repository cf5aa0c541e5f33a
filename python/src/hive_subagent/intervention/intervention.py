"""One intervention and how far it has come."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from hive_subagent.claude.conversation import Message
from hive_subagent.models.session import (
    InterventionKind,
    InterventionState,
    PendingIntervention,
    Undelivered,
)

MARK = "[PARENT INTERVENTION]"

TEXT_LIMIT = 64 * 1024
"""Bytes of what one may say."""

MOST_WAITING = 100
"""Notes that may wait for one run: each is written down with all that wait."""

MOST_TEXT = 1024 * 1024
"""Bytes that they may hold together."""


@dataclass(eq=False)
class Intervention:
    """What an owner wants said; `message` is the one that carries it, where one does."""

    kind: InterventionKind
    text: str
    id: str = field(default_factory=lambda: f"i-{secrets.token_hex(6)}")
    at: float = field(default_factory=time.monotonic)
    over: bool = False
    carried_out: bool = False
    message: Message | None = None

    @classmethod
    def again(cls, kept: Undelivered) -> Self:
        """One that an earlier run missed."""
        return cls(kind=kept.kind, text=kept.text, id=kept.id)

    @property
    def waits(self) -> bool:
        """Whether it is still to be handed over."""
        return self.message is None or self.message.lost

    @property
    def state(self) -> InterventionState:
        """Where it stands; delivered: in an answer or a message that claude has consumed."""
        if self.carried_out or (self.message is not None and self.message.consumed):
            return "delivered"
        return "missed" if self.over else "queued"

    @property
    def settled(self) -> bool:
        """Whether nothing is left to tell of it; a stop is for as long as its run has not ended."""
        return self.carried_out if self.kind == "stop" else self.state == "delivered"

    @cached_property
    def size(self) -> int:
        """Bytes of its text."""
        return len(self.text.encode("utf-8", "surrogatepass"))

    def framed(self) -> str:
        """The words in which the model gets it."""
        if self.kind == "redirect":
            return (
                f"{MARK} {self.text}\nThis is an instruction of your owner and overrides the plan"
                " you follow: act on it now."
            )
        return f"[PARENT INFORMATION] {self.text}"

    def view(self) -> PendingIntervention:
        """As `status` lists it."""
        age = round(time.monotonic() - self.at, 3)
        return PendingIntervention(id=self.id, kind=self.kind, state=self.state, age_s=age)

    def undelivered(self) -> Undelivered:
        """As the session's record keeps it."""
        executor = self.message.uuid if self.message is not None else None
        return Undelivered(id=self.id, kind=self.kind, text=self.text, message=executor)


def together(notes: Sequence[Intervention]) -> str:
    """Several notes in the order in which they came."""
    return "\n\n".join(note.framed() for note in notes)
