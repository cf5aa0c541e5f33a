"""The journal: a reader gets each event once, or hears how many it does not get (issue 13, 1)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.models.events import NoticeChanged
from hive_subagent.outbox.event_journal import EventJournal

INSTANCE = "11111111-2222-3333-4444-555555555555"


def event(number: int, *, words: str = "") -> NoticeChanged:
    return NoticeChanged(event="notice_owed", id=str(number), name=words, at="")


def numbers(journal: EventJournal, position: int) -> list[int]:
    """All that comes after a position, in one go."""
    part = journal.read(position, most_bytes=10**9)
    return [int(json.loads(entry.data)["id"]) for entry in part.entries]


@dataclass
class Reader:
    """A client: it knows the id of the last event that it has had, and nothing else."""

    had: list[int] = field(default_factory=list)
    missed: int = 0
    last_id: str | None = None
    position: int | None = None

    def connect(self, journal: EventJournal) -> None:
        self.position, gap = journal.position(self.last_id)
        assert gap is None
        self.last_id = journal.id_of(self.position)

    def read(self, journal: EventJournal, *, most_bytes: int) -> None:
        if self.position is None:
            return
        part = journal.read(self.position, most_bytes=most_bytes)
        if part.gap is not None:
            assert part.gap.missed > 0
            self.missed += part.gap.missed
        for entry in part.entries:
            assert entry.number == int(json.loads(entry.data)["id"])
            self.had.append(entry.number)
        self.position = part.position
        self.last_id = journal.id_of(part.position)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("emit"), st.integers(1, 8)),
        st.tuples(st.just("read"), st.integers(0, 2), st.integers(1, 400)),
        st.tuples(st.just("leave"), st.integers(0, 2)),
        st.tuples(st.just("connect"), st.integers(0, 2)),
    ),
    max_size=60,
)


@given(STEPS, st.integers(1, 9), st.integers(100, 2000))
def test_every_event_comes_once_or_is_counted_in_a_gap(
    steps: list[tuple[object, ...]], most_entries: int, most_bytes: int
) -> None:
    """Issue 13, 1: whatever is emitted, read and reconnected in between."""
    journal = EventJournal(INSTANCE, most_entries=most_entries, most_bytes=most_bytes)
    readers = [Reader() for _ in range(3)]
    begins: dict[int, int] = {}
    for name, *given_ in steps:
        first = given_[0]
        assert isinstance(first, int)
        if name == "emit":
            for _ in range(first):
                journal.append(event(journal.last + 1, words="x" * (journal.last % 50)))
            continue
        reader = readers[first]
        if name == "connect":
            begins.setdefault(first, journal.last)
            reader.connect(journal)
        elif name == "leave":
            reader.position = None
        else:
            size = given_[1]
            assert isinstance(size, int)
            reader.read(journal, most_bytes=size)
    for index, begin in begins.items():
        reader = readers[index]
        reader.connect(journal)
        while reader.position != journal.last:
            reader.read(journal, most_bytes=10**9)
        assert sorted(set(reader.had)) == reader.had
        assert len(reader.had) + reader.missed == journal.last - begin
    assert journal.missed == sum(reader.missed for reader in readers)


@pytest.mark.parametrize(
    ("given_id", "reason"),
    [
        ("99999999-2222-3333-4444-555555555555:3", "another_daemon"),
        (f"{INSTANCE}:8", "unknown_id"),
        (f"{INSTANCE}:", "unknown_id"),
        ("", "unknown_id"),
        ("x" * 5000, "unknown_id"),
        (f"{INSTANCE}:-1", "unknown_id"),
        (f"{INSTANCE}:\u0661", "unknown_id"),
    ],
)
def test_an_id_that_is_not_of_this_daemon_is_a_gap_and_all_that_is_kept(
    given_id: str, reason: str
) -> None:
    """Issue 13, 1: what such a reader missed of an earlier daemon is not known."""
    journal = EventJournal(INSTANCE, most_entries=4)
    for number in range(1, 8):
        journal.append(event(number))
    position, gap = journal.position(given_id)
    assert gap is not None
    assert (gap.reason, gap.missed, gap.instance) == (reason, 3, INSTANCE)
    assert numbers(journal, position) == [4, 5, 6, 7]


def test_a_reader_without_an_id_begins_with_the_next() -> None:
    """Issue 13, 1."""
    journal = EventJournal(INSTANCE)
    journal.append(event(1))
    assert journal.position(None) == (1, None)


def test_it_is_bounded_by_bytes_and_keeps_the_last_whatever_its_size() -> None:
    """Issue 13, 1."""
    journal = EventJournal(INSTANCE, most_bytes=1000)
    for number in range(1, 50):
        journal.append(event(number, words="x" * 300))
    assert journal.kept == 2
    journal.append(event(50, words="x" * 5000))
    assert numbers(journal, 49) == [50]
    assert journal.kept == 1


def test_half_a_surrogate_pair_is_kept_as_an_escape() -> None:
    """Issue 13, 1: a model can print one."""
    journal = EventJournal(INSTANCE)
    journal.append(event(1, words="a\ud800\u2028b\n"))
    (entry,) = journal.read(0, most_bytes=100).entries
    assert json.loads(entry.data)["name"] == "a\ud800\u2028b\n"
    assert b"\n" not in entry.data


async def test_those_who_wait_are_woken_by_an_event_and_by_the_end() -> None:
    """Issue 13, 1."""
    journal = EventJournal(INSTANCE)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(journal.beyond, 0)
            await anyio.wait_all_tasks_blocked()
            journal.append(event(1))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(journal.beyond, 1)
            await anyio.wait_all_tasks_blocked()
            journal.close()
