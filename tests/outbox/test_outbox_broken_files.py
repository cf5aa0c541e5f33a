"""A file in the outbox that cannot be understood is set aside, and costs nobody else anything."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.outbox.outbox import Outbox
from outbox.owners import Place, make_notice

NOTICE = make_notice("r1").model_dump()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b"null",
        b'{"state":"running"}',
        b'{"state":"running","payload":[]}',
        b'{"state":"asleep"}',
        b'{"state":"owed","notice":{"id":"r1"},"accepted":[]}',
        json.dumps({"state": "owed", "notice": NOTICE}).encode(),
        json.dumps({"state": "owed", "notice": NOTICE, "accepted": [1]}).encode(),
        json.dumps({"state": "owed", "notice": {**NOTICE, "id": "r2"}, "accepted": []}).encode(),
    ],
)
def test_a_broken_file_is_set_aside_whole_and_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    directory = tmp_path / "owed"
    directory.mkdir()
    for name in ("r1.json.broken", "r1.json.2.broken"):
        (directory / name).write_text("older")
    (directory / "r1.json").write_bytes(content)
    Outbox(tmp_path, [Place("p")]).promise("good", {})
    outbox = Outbox(tmp_path, [Place("p")])
    assert [run.run_id for run in outbox.load_unfinished()] == ["good"]
    assert outbox.pending == 0
    assert (directory / "r1.json.3.broken").read_bytes() == content
    assert "r1.json.3.broken" in caplog.text


@given(st.binary(max_size=200))
def test_any_bytes_in_a_file_neither_crash_the_daemon_nor_are_lost(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    state_dir = tmp_path_factory.mktemp("state")
    (state_dir / "owed").mkdir()
    (state_dir / "owed" / "r1.json").write_bytes(content)
    assert Outbox(state_dir, []).load_unfinished() == []
    assert (state_dir / "owed" / "r1.json.broken").read_bytes() == content


def test_unexpected_files_in_the_directory_are_set_aside(tmp_path: Path) -> None:
    directory = tmp_path / "owed"
    directory.mkdir()
    (directory / "d.json").mkdir()
    os.mkfifo(directory / "p.json")
    (directory / "l.json").symlink_to("/etc/hostname")
    (directory / "bad name.json").write_text('{"state":"running","payload":{}}')
    (directory / ".r1.json.0123.tmp").write_text("half a noti")
    (directory / "notes.txt").write_text("somebody's")
    assert Outbox(tmp_path, []).load_unfinished() == []
    assert sorted(os.listdir(directory)) == [
        "bad name.json.broken",
        "d.json.broken",
        "l.json.broken",
        "notes.txt",
        "p.json.broken",
    ]


async def test_a_file_that_vanishes_or_breaks_while_it_waits_is_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place("p")
    outbox = Outbox(tmp_path, [place])
    for run_id in ("broken", "gone", "good"):
        outbox.promise(run_id, {})
        outbox.fulfil(run_id, make_notice(run_id))
    (tmp_path / "owed" / "broken.json").write_text("{")
    (tmp_path / "owed" / "gone.json").unlink()
    await outbox.drain(10)
    assert [notice.id for notice in place.received] == ["good"]
    assert outbox.pending == 0
    assert "notice gone is gone" in caplog.text
