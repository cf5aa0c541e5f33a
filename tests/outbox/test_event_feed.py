"""Events reach whoever asked for them, in order, and nobody waits for a reader."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from hive_subagent.models.notices import RunEvent
from hive_subagent.outbox.event_feed import EventFeed
from hive_subagent.outbox.sinks import DirSink, NotAccepted, UnixSink
from outbox.owners import Owner


def event(number: int) -> RunEvent:
    return RunEvent(
        event="subagent_started",
        id=f"r{number}",
        name="lint",
        session_id="0b5e",
        dir="/srv",
        at="2026-09-29T10:00:00Z",
    )


class Reader:
    """Takes events when it is let; refuses those it is told to."""

    key = "reader"

    def __init__(self) -> None:
        self.taken: list[dict[str, object]] = []
        self.refuses: set[str] = set()
        self.open = anyio.Event()
        self.busy = anyio.Event()

    async def send(self, name: str, line: bytes) -> None:
        self.busy.set()
        await self.open.wait()
        if name.partition(".")[0] in self.refuses:
            raise NotAccepted("not today", reached=True)
        self.taken.append(json.loads(line))

    @property
    def told(self) -> list[tuple[object, object]]:
        return [(one["id"], one["missed"]) for one in self.taken]


@asynccontextmanager
async def running(feed: EventFeed) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(feed.run)
        yield
        tasks.cancel_scope.cancel()


async def test_each_reader_gets_every_event_in_order() -> None:
    readers = [Reader(), Reader()]
    feed = EventFeed(readers)
    async with running(feed):
        for reader in readers:
            reader.open.set()
        for number in range(20):
            feed.emit(event(number))
        await feed.drain(10)
    for reader in readers:
        assert reader.told == [(f"r{number}", 0) for number in range(20)]


async def test_a_reader_that_hangs_delays_no_other_and_gets_a_count_of_its_loss() -> None:
    slow, quick = Reader(), Reader()
    quick.open.set()
    feed = EventFeed([slow, quick], capacity=2)
    async with running(feed):
        feed.emit(event(0))
        await slow.busy.wait()
        for number in range(1, 6):
            feed.emit(event(number))
            await quick_has(quick, number + 1)
        slow.open.set()
        await feed.drain(10)
        feed.emit(event(6))
        await feed.drain(10)
    assert slow.told == [("r0", 0), ("r1", 0), ("r2", 0), ("r6", 3)]
    assert len(quick.told) == 7


async def quick_has(reader: Reader, count: int) -> None:
    with anyio.fail_after(10):
        while len(reader.taken) < count:
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("capacity", [1, 8])
async def test_a_refused_event_is_not_tried_again_but_counted(capacity: int) -> None:
    reader = Reader()
    reader.open.set()
    reader.refuses = {"r0", "r1", "r3"}
    feed = EventFeed([reader], capacity=capacity)
    async with running(feed):
        for number in range(5):
            feed.emit(event(number))
            await feed.drain(10)
    assert reader.told == [("r2", 2), ("r4", 1)]


async def test_events_refused_while_others_wait_are_counted_on_the_next_one() -> None:
    reader = Reader()
    reader.refuses = {"r0", "r1"}
    feed = EventFeed([reader])
    async with running(feed):
        for number in range(4):
            feed.emit(event(number))
        reader.open.set()
        await feed.drain(10)
    assert reader.told == [("r2", 2), ("r3", 0)]


async def test_an_event_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        EventFeed().emit(event(1))
    (record,) = caplog.records
    told = json.loads(record.getMessage())
    assert (told["event"], told["name"]) == ("subagent_started", "lint")
    assert "state" not in told


async def test_a_directory_holds_each_event_in_a_file_of_its_own(tmp_path: Path) -> None:
    feed = EventFeed([DirSink(tmp_path / "todos", events=True)])
    async with running(feed):
        feed.emit(event(1))
        await feed.drain(10)
    kept = json.loads((tmp_path / "todos" / "r1.subagent_started.json").read_bytes())
    assert kept == event(1).model_dump(mode="json")


async def test_a_socket_is_handed_one_line_per_event(owner: Owner) -> None:
    await owner.listen()
    feed = EventFeed([UnixSink(owner.path, events=True)])
    async with running(feed):
        feed.emit(event(1))
        await feed.drain(10)
    assert owner.received == [event(1).model_dump(mode="json")]


async def test_draining_is_bounded(owner: Owner) -> None:
    await owner.listen()
    owner.answer = lambda notice: b"wait for it"
    feed = EventFeed([UnixSink(owner.path, events=True)])
    async with running(feed):
        feed.emit(event(1))
        with anyio.fail_after(10):
            await feed.drain(0.05)
