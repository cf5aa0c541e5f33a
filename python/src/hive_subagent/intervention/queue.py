"""The notes for one run: queued, handed over between two steps, told as missed at the end.

What is handed over is a value: the text, and the message whose fate the notes in it share. One that
is not sent is not consumed either, so what stands in it is told as missed and kept.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from hive_subagent.claude import hooks
from hive_subagent.claude.conversation import Message
from hive_subagent.claude.hooks import Halt, Prompt, Say
from hive_subagent.claude.stream import Batch
from hive_subagent.intervention.intervention import MOST_TEXT, MOST_WAITING, Intervention, together
from hive_subagent.models.session import InterventionKind, PendingIntervention, Undelivered

Keep = Callable[[tuple[Undelivered, ...]], None]


AT_ONCE = 512 * 1024
"""Bytes put before a prompt: they and the longest one are to fit into claude's 10 MB."""


class InterventionQueue:
    """What is put on it is handed over once, in the order it came."""

    def __init__(
        self,
        *,
        missed: Sequence[Undelivered] = (),
        keep: Keep = lambda undelivered: None,
        changed: Callable[[Intervention], None] = lambda note: None,
    ) -> None:
        """`missed` is what earlier runs of the session did not deliver.

        `keep` is given what is undelivered now, whenever that changes: a call, since a text has to
        be kept before it is handed over. `changed` is given each note whose state is another than
        before.
        """
        # a stop that came too late for a run is not meant for the next one
        self._notes = [Intervention.again(note) for note in missed if note.kind != "stop"]
        self._known = {note.id for note in self._notes}
        self._keep = keep
        self._kept = tuple(missed)
        self._changed = changed
        self._states = dict.fromkeys(self._known, "queued")
        self._message: Message | None = None
        self._hushed = False
        self.halted = False
        self.over = False

    def put(self, note: Intervention) -> None:
        """Queue a note, once; on a run that is over it is missed at once."""
        if note.id in self._known:
            return
        self._known.add(note.id)
        note.over = self.over
        self._notes.append(note)
        self._write_down()

    def has_room(self, kind: InterventionKind, size: int) -> bool:
        """Whether a note of `size` bytes may wait with the others; a first stop always may."""
        waiting = [note for note in self._notes if note.state != "delivered"]
        if kind == "stop" and not any(note.kind == "stop" for note in waiting):
            return True
        held = sum(note.size for note in waiting)
        return len(waiting) < MOST_WAITING and held + size <= MOST_TEXT

    @property
    def stop_reason(self) -> str | None:
        """The reason of the first stop."""
        return next((note.text for note in self._notes if note.kind == "stop"), None)

    def at_step(self, known_as: str) -> Say | Prompt | Halt | None:
        """Everything that waits, or the stop alone; `known_as` as for a `Steering`."""
        if self._unheard:
            return None
        if (halt := self._halt(known_as)) is not None:
            return halt
        notes = self._choose(MOST_TEXT)
        if notes and hooks.fits(text := together(notes)):
            return Say(text, self._hand_over(notes, known_as))
        return self.everything()

    def at_end(self, known_as: str) -> Prompt | Halt | None:
        """A stop, or what makes the agent go on; information alone waits for the next turn."""
        if self._unheard:
            return None
        if (halt := self._halt(known_as)) is not None:
            return halt
        redirects = any(note.kind == "redirect" and note.waits for note in self._notes)
        return self.everything() if redirects else None

    def hear(self, batch: Batch) -> None:
        """Claude printed something: after it something may be delivered."""
        if self._kept:
            self._write_down()

    def before(self, prompt: str) -> Prompt:
        """The next prompt, behind what waits; of very much the oldest."""
        notes = self._choose(AT_ONCE)
        text = f"{together(notes)}\n\n{prompt}" if notes else prompt
        return Prompt(text, self._hand_over(notes))

    def everything(self) -> Prompt | None:
        """What waits, but for a stop, to be sent now; None where nothing does."""
        notes = self._choose(MOST_TEXT)
        return Prompt(together(notes), self._hand_over(notes)) if notes else None

    def _choose(self, most: int) -> list[Intervention]:
        chosen, size = list[Intervention](), 0
        for note in self._notes:
            if note.kind == "stop" or not note.waits:
                continue
            size += note.size
            if chosen and size > most:
                break
            chosen.append(note)
        return chosen

    def _hand_over(self, notes: Sequence[Intervention], known_as: str | None = None) -> Message:
        message = Message(str(uuid.uuid4()) if known_as is None else known_as)
        for note in notes:
            note.message = message
        self._message = message
        self._write_down()
        return message

    def hush(self) -> None:
        """From now on nothing is handed over: the turn is cut, and claude drops the answers."""
        self._hushed = True

    def pending(self) -> Sequence[PendingIntervention]:
        """What has not arrived yet, oldest first."""
        return [note.view() for note in self._notes if note.state == "queued"]

    def leave(self, *, stopped: bool = False) -> tuple[Undelivered, ...]:
        """Close the queue; what did not arrive, oldest first.

        It is kept for the session's next run, but for a stop; `stopped` says that the stop took
        effect whether claude heard of it or not.
        """
        self.over = True
        for note in self._notes:
            note.over = True
            note.carried_out |= stopped and note.kind == "stop"
        self._write_down()
        return self._kept

    @property
    def _unheard(self) -> bool:
        # claude drops what a hook answers once the turn was cut (measured with 2.1.197 and
        # 2.1.332), and nothing is to overtake a message that it has not read
        message = self._message
        return self._hushed or not (message is None or message.consumed or message.lost)

    def _halt(self, known_as: str) -> Halt | None:
        stops = [note for note in self._notes if note.kind == "stop" and note.waits]
        if not stops:
            return None
        self.halted = True
        return Halt(stops[0].text, self._hand_over(stops, known_as))

    def _write_down(self) -> None:
        for note in self._notes:
            if self._states.get(note.id) != note.state:
                self._states[note.id] = note.state
                self._changed(note)
        # of those that arrived only a stop is asked for again: a run that heard of it may yet die
        self._notes = [n for n in self._notes if n.kind == "stop" or n.state != "delivered"]
        undelivered = tuple(note.undelivered() for note in self._notes if not note.settled)
        if undelivered != self._kept:
            self._kept = undelivered
            self._keep(undelivered)
