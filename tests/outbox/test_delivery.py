"""One sink's queue: order, pauses, and nothing that grows while a sink is dead."""

import asyncio
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from hive_subagent.models.notices import Notice
from hive_subagent.outbox.delivery import Delivery
from hive_subagent.outbox.sinks import DirSink, NotAccepted, UnixSink
from outbox.owners import YES, Owner, make_notice


def queue(
    sink: UnixSink | DirSink,
    *notices: Notice,
    accepted: Callable[[str], None] = lambda notice_id: None,
) -> Delivery:
    known = {notice.id: notice for notice in notices}
    delivery = Delivery(
        sink, read=known.get, accepted=accepted, first_pause_s=0.001, longest_pause_s=0.01
    )
    for notice in notices:
        delivery.add(notice.id, notice.at)
    return delivery


def hour(number: int, notice_id: str) -> Notice:
    return make_notice(notice_id, at=f"2026-09-29T{number:02}:00:00Z")


async def test_notices_come_in_the_order_of_their_endings(owner: Owner) -> None:
    await owner.listen()
    order = [3, 0, 7, 1, 9, 5, 8, 2, 6, 4]
    delivery = queue(UnixSink(owner.path), *(hour(number, f"r{number}") for number in order))
    await delivery.drain()
    assert owner.ids == [f"r{number}" for number in range(10)]
    assert not delivery.waiting


async def test_a_sink_that_comes_late_gets_everything_in_order(owner: Owner) -> None:
    delivery = queue(UnixSink(owner.path), hour(2, "b"), hour(1, "a"))
    delivery.add("removed by hand", "2026-09-29T00:00:00Z")
    await delivery.drain()
    assert delivery.waiting == {"a", "b"}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(delivery.run)
        await owner.listen()
        assert await owner.received_ids(2) == ["a", "b"]
        tasks.cancel_scope.cancel()


async def test_a_notice_that_is_never_taken_does_not_hold_up_the_others(owner: Owner) -> None:
    owner.answer = lambda notice: None if notice["id"] == "poison" else YES
    await owner.listen()
    taken = asyncio.Queue[str]()
    delivery = queue(
        UnixSink(owner.path),
        hour(1, "poison"),
        hour(2, "a"),
        hour(3, "b"),
        accepted=taken.put_nowait,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(delivery.run)
        with anyio.fail_after(10):
            assert [await taken.get(), await taken.get()] == ["a", "b"]
            assert delivery.waiting == {"poison"}
            owner.answer = lambda notice: YES
            assert await taken.get() == "poison"
        tasks.cancel_scope.cancel()
    assert not delivery.waiting


async def test_pauses_double_up_to_the_longest_and_begin_anew_after_a_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    path = tmp_path / "place"
    path.write_text("in the way")

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 10:
            path.unlink()
        if len(pauses) == 11:
            tasks.cancel_scope.cancel()
        await anyio.lowlevel.checkpoint()

    def in_the_way_again(notice_id: str) -> None:
        (path / f"{notice_id}.json").unlink()
        path.rmdir()
        path.write_text("in the way")

    delivery = Delivery(
        DirSink(path), read=lambda notice_id: make_notice(notice_id), accepted=in_the_way_again
    )
    delivery.add("a", "2026-09-29T00:00:00Z")
    delivery.add("b", "2026-09-29T01:00:00Z")
    monkeypatch.setattr(anyio, "sleep", noted)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(delivery.run)
    full = [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60, 0.5]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, full, strict=True))


async def test_a_dead_sink_costs_neither_tasks_nor_memory_per_notice(tmp_path: Path) -> None:
    texts_read = 0

    def read(notice_id: str) -> Notice:
        nonlocal texts_read
        texts_read += 1
        return make_notice(notice_id, text="x" * 100_000)

    delivery = Delivery(
        UnixSink(tmp_path / "nobody"), read=read, accepted=lambda notice_id: None, first_pause_s=60
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(delivery.run)
        await anyio.wait_all_tasks_blocked()
        before = len(asyncio.all_tasks())
        tracemalloc.start()
        for number in range(1000):
            delivery.add(f"r{number}", "2026-09-29T00:00:00Z")
        await anyio.wait_all_tasks_blocked()
        grown = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(asyncio.all_tasks()) == before
        assert texts_read == 1
        assert grown < 1_000_000  # one text is 100,000
        tasks.cancel_scope.cancel()


async def test_a_sink_that_breaks_delays_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        key = "broken:"

        async def deliver(self, notice: Notice) -> None:
            raise ZeroDivisionError

    delivery = Delivery(Broken(), read=make_notice, accepted=lambda notice_id: None)
    delivery.add("r1", "not a time")
    await delivery.drain()
    assert delivery.waiting == {"r1"}
    assert "failed at notice r1" in caplog.text


async def test_a_lasting_failure_is_logged_once_and_its_end_too(
    owner: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    delivery = queue(UnixSink(owner.path), make_notice("r1"))
    for _ in range(3):
        await delivery.drain()
    await owner.listen()
    await delivery.drain()
    told = [record.getMessage() for record in caplog.records if "todo sink" in record.getMessage()]
    assert len(told) == 2
    assert str(owner.path) in told[0]
    assert "takes notices again" in told[1]


async def test_a_notice_added_during_a_delivery_takes_its_place(owner: Owner) -> None:
    await owner.listen()
    notices = {name: hour(at, name) for name, at in (("early", 1), ("late", 2))}
    delivery = Delivery(
        UnixSink(owner.path), read=notices.get, accepted=lambda notice_id: None, first_pause_s=0.001
    )

    def add_another(notice: dict[str, Any]) -> bytes:
        delivery.add("early", notices["early"].at)
        return YES

    owner.answer = add_another
    delivery.add("late", notices["late"].at)
    await delivery.drain()
    owner.answer = lambda notice: YES
    await delivery.drain()
    assert owner.ids == ["late", "early"]
    assert not delivery.waiting


async def test_a_drain_ends_at_a_sink_that_cannot_be_reached(tmp_path: Path) -> None:
    attempts = 0

    class Away:
        key = "away:"

        async def deliver(self, notice: Notice) -> None:
            nonlocal attempts
            attempts += 1
            raise NotAccepted("away", reached=False)

    delivery = Delivery(Away(), read=make_notice, accepted=lambda notice_id: None)
    for number in range(100):
        delivery.add(f"r{number}", "2026-09-29T00:00:00Z")
    await delivery.drain()
    assert attempts == 1
    assert len(delivery.waiting) == 100
