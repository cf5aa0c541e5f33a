"""What is owed survives: a marker from the answer on, the notice from the ending on."""

import stat
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.faults import no_room_for_files
from support.owed import last_entry

from hive_subagent.errors import Refused
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.outbox.sinks import UnixSink
from outbox.owners import YES, Owner, Place, make_notice


def owed(state_dir: Path) -> dict[str, Any]:
    return {
        file.stem: last_entry(file.read_bytes()) for file in (state_dir / "owed").glob("*.json")
    }


def test_a_run_is_owed_on_disk_from_its_answer_on(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, [Place("p")])
    outbox.promise("r1", {"name": "lint", "dir": "/a\ud800"})
    assert owed(tmp_path)["r1"]["state"] == "running"
    assert stat.S_IMODE((tmp_path / "owed").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "owed" / "r1.json").stat().st_mode) == 0o600
    [found] = Outbox(tmp_path, []).load_unfinished()
    assert (found.run_id, found.payload) == ("r1", {"name": "lint", "dir": "/a\ud800"})


async def test_a_run_dropped_by_a_crash_is_reported_once(tmp_path: Path) -> None:
    """R17: the daemon restarted, and each owed notice arrives."""
    place = Place("p")
    Outbox(tmp_path, [place]).promise("r1", {"name": "lint"})
    for _ in range(2):
        outbox = Outbox(tmp_path, [place])
        for run in outbox.load_unfinished():
            assert outbox.fulfil(run.run_id, make_notice(run.run_id, text="the daemon stopped"))
        await outbox.drain(10)
    assert [notice.text for notice in place.received] == ["the daemon stopped"]
    assert owed(tmp_path) == {}


async def test_an_undelivered_notice_is_delivered_after_a_restart(tmp_path: Path) -> None:
    """R17: the run had ended, only its owner could not be reached."""
    place = Place("p")
    place.mood = "is away"
    outbox = Outbox(tmp_path, [place])
    outbox.promise("r1", {})
    outbox.fulfil("r1", make_notice("r1", text="\ud800"))
    await outbox.drain(10)
    place.mood = "takes"
    after = Outbox(tmp_path, [place])
    assert after.load_unfinished() == []
    assert after.pending == 1
    await after.drain(10)
    assert place.received == [make_notice("r1", text="\ud800")]
    assert after.pending == 0
    assert owed(tmp_path) == {}


async def test_the_notice_is_on_disk_before_any_sink_gets_it(tmp_path: Path, owner: Owner) -> None:
    seen: list[Any] = []

    def look(notice: dict[str, Any]) -> bytes:
        seen.append(owed(tmp_path)[notice["id"]]["notice"] == notice)
        return YES

    owner.answer = look
    await owner.listen()
    outbox = Outbox(tmp_path, [UnixSink(owner.path)])
    outbox.promise("r1", {})
    outbox.fulfil("r1", make_notice("r1"))
    await outbox.drain(10)
    assert seen == [True]


@pytest.mark.parametrize("before", ["nothing", "cancelled", "fulfilled", "fulfilled and delivered"])
async def test_a_run_without_a_promise_gets_no_notice(tmp_path: Path, before: str) -> None:
    place = Place("p")
    outbox = Outbox(tmp_path, [place])
    if before != "nothing":
        outbox.promise("r1", {})
    if before == "cancelled":
        outbox.cancel("r1")
        assert owed(tmp_path) == {}
    if before.startswith("fulfilled"):
        assert outbox.fulfil("r1", make_notice("r1"))
    if before == "fulfilled and delivered":
        await outbox.drain(10)
    assert not outbox.fulfil("r1", make_notice("r1", text="again"))
    outbox.cancel("r1")
    await outbox.drain(10)
    assert [notice.text for notice in place.received] == ["it ended"] * before.count("fulfilled")


async def test_a_sink_that_took_it_is_not_given_it_again_after_a_restart(tmp_path: Path) -> None:
    taker, away = Place("taker"), Place("away")
    away.mood = "is away"
    outbox = Outbox(tmp_path, [taker, away])
    outbox.promise("r1", {})
    outbox.fulfil("r1", make_notice("r1"))
    await outbox.drain(10)
    assert owed(tmp_path)["r1"]["accepted"] == ["taker"]
    away.mood = "takes"
    after = Outbox(tmp_path, [taker, away])
    after.load_unfinished()
    await after.drain(10)
    assert (len(taker.received), len(away.received)) == (1, 1)
    assert owed(tmp_path) == {}


async def test_a_sink_that_took_it_is_remembered_while_it_is_not_configured(tmp_path: Path) -> None:
    one, two, three = places = [Place("one"), Place("two"), Place("three")]
    two.mood = three.mood = "is away"
    outbox = Outbox(tmp_path, places)
    outbox.promise("r1", {})
    outbox.fulfil("r1", make_notice("r1"))
    await outbox.drain(10)
    two.mood = "takes"
    without = Outbox(tmp_path, [two, three])
    without.load_unfinished()
    await without.drain(10)
    three.mood = "takes"
    again = Outbox(tmp_path, places)
    again.load_unfinished()
    await again.drain(10)
    assert [len(place.received) for place in places] == [1, 1, 1]
    assert one.received == three.received


async def test_a_notice_that_only_a_removed_sink_lacked_is_done_at_next_start(
    tmp_path: Path,
) -> None:
    taker, away = Place("taker"), Place("away")
    away.mood = "is away"
    outbox = Outbox(tmp_path, [taker, away])
    outbox.promise("r1", {})
    outbox.fulfil("r1", make_notice("r1"))
    await outbox.drain(10)
    Outbox(tmp_path, []).load_unfinished()
    assert list(owed(tmp_path)) == ["r1"]  # nobody to tell is no reason to forget
    Outbox(tmp_path, [taker]).load_unfinished()
    assert owed(tmp_path) == {}


def test_without_sinks_nothing_piles_up(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, [])
    outbox.promise("r1", {})
    assert outbox.fulfil("r1", make_notice("r1"))
    assert owed(tmp_path) == {}


async def test_two_entries_for_one_place_are_one_sink(tmp_path: Path) -> None:
    place = Place("p")
    outbox = Outbox(tmp_path, [place, place])
    outbox.promise("r1", {})
    outbox.fulfil("r1", make_notice("r1"))
    await outbox.drain(10)
    assert len(place.received) == 1


async def test_a_sink_that_hangs_holds_up_no_other(tmp_path: Path, owner: Owner) -> None:
    hung = Owner(tmp_path / "hung.sock")
    hung.answer = lambda notice: b""
    await hung.listen()
    await owner.listen()
    outbox = Outbox(tmp_path, [UnixSink(hung.path), UnixSink(owner.path)])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(outbox.run)
        for run_id in ("r1", "r2"):
            outbox.promise(run_id, {})
            outbox.fulfil(run_id, make_notice(run_id))
        assert await hung.received_ids(1) == ["r1"]
        assert await owner.received_ids(2) == ["r1", "r2"]
        tasks.cancel_scope.cancel()
    await hung.close()


async def test_a_drain_is_bounded_while_a_sink_hangs(tmp_path: Path, owner: Owner) -> None:
    owner.answer = lambda notice: b""
    await owner.listen()
    outbox = Outbox(tmp_path, [UnixSink(owner.path, timeout_s=3600)])
    outbox.promise("r1", {})
    outbox.fulfil("r1", make_notice("r1"))
    with anyio.fail_after(10):
        await outbox.drain(0.1)
    assert list(owed(tmp_path)) == ["r1"]


async def test_a_drain_beside_the_running_outbox_gives_nothing_twice(
    tmp_path: Path, owner: Owner
) -> None:
    await owner.listen()
    outbox = Outbox(tmp_path, [UnixSink(owner.path)])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(outbox.run)
        for number in range(20):
            outbox.promise(f"r{number}", {})
            outbox.fulfil(f"r{number}", make_notice(f"r{number}"))
        await owner.received_ids(1)
        await outbox.drain(10)
        tasks.cancel_scope.cancel()
    assert sorted(owner.ids) == sorted(f"r{number}" for number in range(20))


def test_a_promise_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, [Place("p")])
    (tmp_path / "owed").rmdir()
    with pytest.raises(
        Refused, match="owed cannot be written: No such file or directory;"
    ) as refusal:
        outbox.promise("r1", {})
    assert refusal.value.path == str(tmp_path / "owed"), "issue 12, 10"
    assert not outbox.fulfil("r1", make_notice("r1"))


async def test_a_notice_that_the_disk_does_not_take_is_delivered_from_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    taker, away = Place("taker"), Place("away")
    away.mood = "is away"
    outbox = Outbox(tmp_path, [taker, away])
    outbox.promise("r1", {})
    with no_room_for_files():
        outbox.fulfil("r1", make_notice("r1"))
    assert "r1 is held in memory only" in caplog.text
    await outbox.drain(10)
    assert [notice.text for notice in taker.received] == ["it ended"]
    assert owed(tmp_path)["r1"]["accepted"] == ["taker"]  # the disk is back, and told at once
    away.mood = "takes"
    await outbox.drain(10)
    assert [notice.text for notice in away.received] == ["it ended"]
    assert owed(tmp_path) == {}


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", ".hidden", "a\0", "a\n", "x" * 129])
def test_an_id_that_is_no_file_name_is_an_error_of_the_caller(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(ValueError, match="not a run id"):
        Outbox(tmp_path, []).promise(run_id, {})


def test_a_notice_of_another_run_is_an_error_of_the_caller(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, [])
    outbox.promise("r1", {})
    with pytest.raises(ValueError, match="'r2' is not the one of run 'r1'"):
        outbox.fulfil("r1", make_notice("r2"))
