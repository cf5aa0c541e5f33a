"""The notes for one run: queued, handed over between two steps, told as missed at the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hive_subagent.claude.conversation import Message
from hive_subagent.claude.hooks import Halt, Say
from hive_subagent.intervention.notes import Note, together
from hive_subagent.models import PendingIntervention
from hive_subagent.runs.steering import Left

log = logging.getLogger(__name__)


class Desk:
    """The steering of one run. What is put on it is handed over once, in the order it came."""

    def __init__(
        self,
        *,
        kept: Sequence[str] = (),
        hear: Callable[[Mapping[str, Any]], None] | None = None,
        left: Callable[[], None] = lambda: None,
    ) -> None:
        """`kept` are texts that an earlier run of the session missed; `left` is told of the end."""
        # framed already: they say themselves what they are
        self._kept = list(kept)
        self._kept_in: Message | None = None
        self._notes: list[Note] = []
        self._prefaced: list[Note] = []
        self._hear = hear
        self._left = left
        self._halted = False
        self.over = False

    def put(self, note: Note) -> None:
        """Queue a note; on a run that is over it is missed at once."""
        note.over = self.over
        self._notes.append(note)

    @property
    def stop_reason(self) -> str | None:
        """The reason of the first stop."""
        return next((note.text for note in self._notes if note.kind == "stop"), None)

    @property
    def halted(self) -> bool:
        """Whether claude was answered with a halt."""
        return self._halted

    def at_step(self) -> Say | Halt | None:
        """Everything that waits, or the stop alone."""
        return self._halt() or self._say(self._waiting())

    def at_end(self) -> Say | Halt | None:
        """A stop, or what makes the agent go on; information alone waits for the next turn."""
        waiting = self._waiting()
        if not any(note.kind == "redirect" for note in waiting):
            waiting = []
        return self._halt() or self._say(waiting)

    def hear(self, event: Mapping[str, Any]) -> None:
        """Pass on what claude printed."""
        if self._hear is not None:
            self._hear(event)

    def preface(self) -> str:
        """What waits, to be put before the next prompt."""
        kept = self._kept if self._kept_in is None else []
        self._prefaced = self._waiting()
        return "\n\n".join([*kept, *(note.framed() for note in self._prefaced)])

    def prefaced(self, message: Message) -> None:
        """That prompt went in as `message`."""
        if self._kept and self._kept_in is None:
            self._kept_in = message
        for note in self._prefaced:
            note.message = message
        self._prefaced = []

    def pending(self) -> Sequence[PendingIntervention]:
        """What has not arrived yet, oldest first."""
        return [note.view() for note in self._notes if note.state == "queued"]

    def leave(self) -> Left:
        """Close the desk: what has not arrived is missed, and kept unless it was a stop."""
        self.over = True
        for note in self._notes:
            note.over = True
        self._left()
        missed = [note for note in self._notes if note.state == "missed"]
        still = [] if self._kept_in is not None and self._kept_in.consumed else self._kept
        kept = [*still, *(note.framed() for note in missed if note.kind != "stop")]
        return Left(told=tuple(_told(note) for note in missed), kept=tuple(kept))

    def _waiting(self) -> list[Note]:
        return [
            note
            for note in self._notes
            if note.kind != "stop" and note.message is None and not note.answered
        ]

    def _halt(self) -> Halt | None:
        for note in self._notes:
            if note.kind == "stop" and not note.answered:
                note.answered = self._halted = True
                return Halt(note.text)
        return None

    def _say(self, notes: list[Note]) -> Say | None:
        if not notes:
            return None
        for note in notes:
            note.answered = True
        return Say(together(notes))


def _told(note: Note) -> str:
    text = note.text if len(note.text) <= 200 else note.text[:200] + "…"
    after = "" if note.kind == "stop" else "; it is kept for the next turn"
    return f"Not delivered before the run ended: {note.kind} {note.id} ({text}){after}."
