"""Faults of the machine cost no notice: what could not be read or written is tried again."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.faults import SmallDisk, no_descriptors, no_room_for_files, small_disk
from support.owed import last_entry
from support.processes import until

from hive_subagent.outbox import owed_files
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.outbox.owed_files import ROOM, identities_in
from hive_subagent.system.private_files import read_ours
from outbox.owners import Place, make_notice

ENDING = {"message": None, "result": "the answer", "result_cut": False}


class Unlucky:
    """Reading the files of these runs fails, as on a disk with a bad block."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *run_ids: str) -> None:
        self.run_ids = set(run_ids)
        monkeypatch.setattr(owed_files, "read_ours", self)

    def __call__(self, path: Path) -> bytes:
        if path.stem in self.run_ids:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return read_ours(path)


def entry(state_dir: Path, run_id: str) -> dict[str, Any]:
    return last_entry((state_dir / "owed" / f"{run_id}.json").read_bytes())


async def test_a_file_that_cannot_be_read_now_stays_and_is_taken_up_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 10, 1: it was renamed to `.broken`, and its notice was lost for good."""
    place = Place("p")
    place.mood = "is away"
    before = Outbox(tmp_path, [place])
    for run_id in ("ended", "running"):
        before.promise(run_id, {})
    before.fulfil("ended", make_notice("ended"))
    place.mood = "takes"
    outbox = Outbox(tmp_path, [place])
    unlucky = Unlucky(monkeypatch, "ended", "running")
    assert outbox.load_unfinished() == []
    assert (outbox.complete, outbox.unread, outbox.set_aside) == (False, 2, 0)
    assert "notice running cannot be read, trying again: Input/output error" in caplog.text
    unlucky.run_ids.clear()
    assert [run.run_id for run in outbox.load_unfinished()] == ["running"]
    assert (outbox.complete, outbox.unread) == (True, 0)
    assert outbox.load_unfinished() == []
    await outbox.drain(10)
    assert [notice.id for notice in place.received] == ["ended"]


def test_a_folder_that_cannot_be_read_now_is_read_later(tmp_path: Path) -> None:
    """Issue 10, 1."""
    Outbox(tmp_path, []).promise("r1", {})
    outbox = Outbox(tmp_path, [])
    with no_descriptors():
        assert outbox.load_unfinished() == []
    assert not outbox.complete
    outbox.promise("r2", {})
    assert [run.run_id for run in outbox.load_unfinished()] == ["r1"]
    assert outbox.complete


async def test_a_notice_that_cannot_be_read_while_it_waits_is_delivered_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 10, 1: the others do not wait for it."""
    place = Place("p")
    outbox = Outbox(tmp_path, [place], first_pause_s=0.01)
    for run_id in ("r1", "r2"):
        outbox.promise(run_id, {})
        outbox.fulfil(run_id, make_notice(run_id))
    unlucky = Unlucky(monkeypatch, "r1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(outbox.run)
        await until(lambda: [notice.id for notice in place.received] == ["r2"])
        unlucky.run_ids.clear()
        await until(lambda: [notice.id for notice in place.received] == ["r2", "r1"])
        tasks.cancel_scope.cancel()
    assert os.listdir(tmp_path / "owed") == []


def test_what_is_set_aside_is_counted_over_restarts(tmp_path: Path) -> None:
    """Issue 10, 1."""
    (tmp_path / "owed").mkdir()
    (tmp_path / "owed" / "r1.json").write_text("{")
    for _ in range(2):
        outbox = Outbox(tmp_path, [])
        assert outbox.load_unfinished() == []
        assert (outbox.set_aside, outbox.unread, outbox.complete) == (1, 0, True)


@pytest.mark.parametrize("state", ["running", "owed", "something new"])
def test_the_file_of_a_newer_version_stays_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, state: str
) -> None:
    """Issue 10, 5."""
    file = tmp_path / "owed" / "r1.json"
    file.parent.mkdir()
    content = json.dumps({"version": 2, "state": state, "payload": {}}).encode() + b"\n"
    file.write_bytes(content)
    outbox = Outbox(tmp_path, [Place("p")])
    assert outbox.load_unfinished() == []
    assert (outbox.unread, outbox.set_aside, outbox.complete) == (1, 0, True)
    assert file.read_bytes() == content
    assert "of version 2, this daemon knows those up to 1" in caplog.text


def test_an_ending_needs_no_descriptor(tmp_path: Path) -> None:
    """Issue 10, 3: the descriptor is there since the promise."""
    outbox = Outbox(tmp_path, [Place("p")])
    outbox.promise("r1", {})
    with no_descriptors():
        assert outbox.fulfil("r1", make_notice("r1"), ENDING)
    assert outbox.unsaved == 0
    assert entry(tmp_path, "r1")["notice"]["text"] == "it ended"
    assert Outbox(tmp_path, []).load_unfinished() == []


@pytest.fixture
def disk(tmp_path: Path) -> Any:
    with small_disk(tmp_path / "disk") as made:
        yield made


async def test_an_ending_has_room_on_a_full_disk(disk: SmallDisk) -> None:
    """Issue 10, 3: the next daemon told the run as killed, since only its promise was there."""
    outbox = Outbox(disk.path, [Place("p")])
    outbox.promise("r1", {})
    disk.fill()
    notice = make_notice("r1", text="x" * 20_000)
    assert outbox.fulfil("r1", notice, ENDING)
    assert outbox.unsaved == 0
    place = Place("p")
    after = Outbox(disk.path, [place])
    assert after.load_unfinished() == []
    [found] = after.endings_found()
    assert (found.notice, found.ending) == (notice, ENDING)
    await after.drain(10)
    assert place.received == [notice]
    assert list((disk.path / "owed").iterdir()) != [], "its ending is in no record yet"
    after.ending_kept("r1")
    assert list((disk.path / "owed").iterdir()) == []


async def test_an_ending_that_is_longer_than_its_room_is_cut_on_a_full_disk_only(
    disk: SmallDisk, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 10, 3."""
    place = Place("p")
    place.mood = "is away"
    outbox = Outbox(disk.path, [place])
    outbox.promise("r1", {})
    disk.fill()
    notice = make_notice("r1", text="x" * 2 * ROOM)
    assert outbox.fulfil("r1", notice)
    assert outbox.unsaved == 1
    cut = entry(disk.path, "r1")["notice"]
    assert (cut["kind"], cut["text"]) == ("finished", "x" * 1000 + "\n(cut: the disk was full)")
    outbox.report_unsaved()
    assert "notice r1 (`lint`: finished) was held in memory and is kept only in part" in caplog.text
    disk.free()
    await outbox.drain(10)
    assert outbox.unsaved == 0
    assert entry(disk.path, "r1")["notice"] == notice.model_dump()


def test_a_promise_without_room_for_its_ending_is_refused(disk: SmallDisk) -> None:
    """Issue 10, 3: before anything begins."""
    outbox = Outbox(disk.path, [Place("p")])
    disk.fill()
    with pytest.raises(Exception, match="No space left on device; make room"):
        outbox.promise("r1", {})
    assert list((disk.path / "owed").iterdir()) == []


def test_a_promise_is_replaced_on_a_full_disk_and_keeps_its_room(disk: SmallDisk) -> None:
    """Issue 10, 3: what a delegation has done so far."""
    outbox = Outbox(disk.path, [Place("p")])
    outbox.promise("r1", {"ended": 0})
    disk.fill()
    outbox.promise("r1", {"ended": 1})
    [found] = Outbox(disk.path, []).load_unfinished()
    assert found.payload == {"ended": 1}
    assert outbox.fulfil("r1", make_notice("r1"))
    assert entry(disk.path, "r1")["state"] == "owed"


async def test_a_run_of_an_earlier_daemon_is_fulfilled_on_a_full_disk(disk: SmallDisk) -> None:
    """Issue 10, 3."""
    Outbox(disk.path, []).promise("r1", {})
    disk.fill()
    outbox = Outbox(disk.path, [Place("p")])
    assert len(outbox.load_unfinished()) == 1
    assert outbox.fulfil("r1", make_notice("r1"))
    assert outbox.unsaved == 0
    assert Outbox(disk.path, []).load_unfinished() == []


async def test_a_notice_that_was_not_saved_is_saved_once_the_disk_takes_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 10, 3: it was never tried again, and the stop did not say so."""
    place = Place("p")
    place.mood = "is away"
    outbox = Outbox(tmp_path, [place], first_pause_s=0.01)
    outbox.promise("r1", {})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(outbox.run)
        with no_room_for_files():
            outbox.fulfil("r1", make_notice("r1"))
            assert outbox.unsaved == 1
            outbox.report_unsaved()
        await until(lambda: outbox.unsaved == 0)
        tasks.cancel_scope.cancel()
    assert "(`lint`: finished) was held in memory and is lost with this daemon" in caplog.text
    assert entry(tmp_path, "r1")["state"] == "owed"


async def test_a_file_that_cannot_be_removed_is_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 10, 3: it would be told again after a restart, or told at all."""
    place = Place("p")
    outbox = Outbox(tmp_path, [place])
    for run_id in ("told", "refused"):
        outbox.promise(run_id, {})
    with monkeypatch.context() as broken:

        def fail(path: Path, missing_ok: bool = False) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

        broken.setattr(Path, "unlink", fail)
        outbox.fulfil("told", make_notice("told"))
        outbox.cancel("refused")
        await outbox.drain(10)
    assert len(os.listdir(tmp_path / "owed")) == 2
    await outbox.drain(10)
    assert os.listdir(tmp_path / "owed") == []
    assert len(place.received) == 1


def test_the_identities_of_runs_are_found_in_their_files(tmp_path: Path) -> None:
    """Issue 10, 6."""
    assert identities_in(tmp_path) == []
    for number, identity in enumerate(["a" * 32, "", "b" * 32, "a" * 32]):
        Outbox(tmp_path, [], identity=identity).promise(f"r{number}", {})
    (tmp_path / "owed" / "r9.json").write_text("{")
    assert identities_in(tmp_path) == ["a" * 32, "b" * 32]
    assert (tmp_path / "owed" / "r9.json").exists()


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_where_nothing_can_be_reserved_a_notice_is_promised_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Issue 10, 3: musl has no substitute for a file system that cannot reserve."""

    def refuse(descriptor: int, offset: int, size: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    outbox = Outbox(tmp_path, [Place("p")])
    outbox.promise("r1", {"name": "child"})
    assert entry(tmp_path, "r1")["state"] == "running"
    assert outbox.fulfil("r1", make_notice("r1"))
    assert entry(tmp_path, "r1")["state"] == "owed"
