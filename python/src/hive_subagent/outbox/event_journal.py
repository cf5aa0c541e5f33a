"""The journal of events: the last ones, numbered, for readers that come and go.

A reader is a number: that of the last event it has had. So one that reads slowly, or comes back
later, costs the daemon nothing; what has been dropped meanwhile is declared to it as a gap.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import anyio

from hive_subagent.models.events import Gap, GapReason

MOST_ENTRIES = 4096
"""Events that are kept."""

MOST_BYTES = 4 * 1024 * 1024
"""Bytes of JSON that are kept."""

_ID = re.compile(r"(?P<instance>[0-9a-f-]{1,64}):(?P<number>[0-9]{1,18})", re.ASCII)


class Event(Protocol):
    """A frozen model with a name."""

    @property
    def event(self) -> str:
        """Its name."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """All of it, in the mode "json" as JSON has it."""


def as_line(event: Event) -> bytes:
    """JSON on one line, in ASCII: a model can print half of a surrogate pair."""
    return json.dumps(event.model_dump(mode="json"), separators=(",", ":")).encode("ascii")


@dataclass(frozen=True)
class Entry:
    """One event: `number` counts from 1, `data` is its JSON on one line."""

    number: int
    event: str
    data: bytes


@dataclass(frozen=True)
class Part:
    """What comes next for a reader: perhaps a gap, then entries. `position` is where it is then."""

    gap: Gap | None
    entries: Sequence[Entry]
    position: int


class EventJournal:
    """The events of one daemon, by number."""

    def __init__(
        self, instance: str, *, most_entries: int = MOST_ENTRIES, most_bytes: int = MOST_BYTES
    ) -> None:
        self.instance = instance
        self.last = 0
        self.closed = False
        self.missed = 0
        """Events that readers were told they do not get, in all."""
        self._ring: list[Entry | None] = [None] * most_entries
        self._first = 1
        self._bytes = 0
        self._most_bytes = most_bytes
        self._changed = anyio.Event()

    @property
    def kept(self) -> int:
        """How many of the last events can be read."""
        return self.last - self._first + 1

    def id_of(self, number: int) -> str:
        """What a reader names to go on after this event."""
        return f"{self.instance}:{number}"

    def append(self, event: Event) -> None:
        """Number an event and keep it; the oldest give way. Never waits."""
        data = as_line(event)
        entry = Entry(self.last + 1, event.event, data)
        if self.kept == len(self._ring):
            self._drop_oldest()
        self._ring[entry.number % len(self._ring)] = entry
        self.last = entry.number
        self._bytes += len(data)
        while self._bytes > self._most_bytes and self.kept > 1:
            self._drop_oldest()
        self._wake()

    def position(self, last_event_id: str | None) -> tuple[int, Gap | None]:
        """Where a reader is that has had this event last; without one it begins with the next.

        One that names an event of another daemon gets all that is kept of this one, behind a gap.
        """
        if last_event_id is None:
            return self.last, None
        found = _ID.fullmatch(last_event_id)
        if found is not None and found["instance"] == self.instance:
            number = int(found["number"])
            if number <= self.last:
                return number, None
            found = None
        begin = self._first - 1
        self.missed += begin
        reason: GapReason = "unknown_id" if found is None else "another_daemon"
        return begin, Gap(reason=reason, missed=begin, instance=self.instance)

    def read(self, position: int, *, most_bytes: int) -> Part:
        """What comes after `position`; at least one entry, where there is any."""
        gap = None
        if position + 1 < self._first:
            missed = self._first - 1 - position
            gap = Gap(reason="dropped", missed=missed, instance=self.instance)
            self.missed += missed
            position = self._first - 1
        entries: list[Entry] = []
        size = 0
        while position < self.last:
            entry = self._ring[(position + 1) % len(self._ring)]
            assert entry is not None
            size += len(entry.data)
            if entries and size > most_bytes:
                break
            entries.append(entry)
            position += 1
        return Part(gap, entries, position)

    async def beyond(self, position: int) -> None:
        """Wait until there is more than `position`, or no more comes."""
        while self.last <= position and not self.closed:
            await self._changed.wait()

    def close(self) -> None:
        """No more comes; readers end once they have had the rest."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def _drop_oldest(self) -> None:
        place = self._first % len(self._ring)
        oldest = self._ring[place]
        assert oldest is not None
        self._bytes -= len(oldest.data)
        self._ring[place] = None
        self._first += 1
