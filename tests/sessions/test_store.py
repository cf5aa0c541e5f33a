"""What is kept of sessions: found again as it was, and believed only where it is ours."""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from pathlib import Path

import pytest

from hive_subagent.errors import Refused
from hive_subagent.sessions.store import SessionRecord, SessionStore, Unreadable


def record(name: str = "lint", session_id: str = "") -> SessionRecord:
    return SessionRecord(
        name=name, session_id=session_id or str(uuid.uuid4()), dir="/srv", ours=True
    )


@pytest.fixture
def records(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "state")


@pytest.fixture
def kept(records: SessionStore) -> SessionRecord:
    made = record()
    records.save_brief(made.session_id, b"the brief")
    records.save(made)
    return made


def test_a_session_is_found_by_its_name_with_its_brief(
    records: SessionStore, kept: SessionRecord, tmp_path: Path
) -> None:
    assert SessionStore(tmp_path / "state").by_name("lint") == kept
    brief = records.brief(kept.session_id)
    assert brief is not None
    assert brief.read_bytes() == b"the brief"
    assert records.by_name("other") is None
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert len(files) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_brief_is_on_the_disk_once_its_record_is_with_each_name_flushed_once(
    records: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder that holds a brief is flushed with its record and not before (issue 12, 13)."""
    made = record()
    folder = tmp_path / "state" / "sessions" / made.session_id
    flushed: list[tuple[Path, frozenset[str]]] = []

    def note(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        flushed.append((path, frozenset(os.listdir(path)) if path.is_dir() else frozenset()))

    monkeypatch.setattr(os, "fsync", note)
    records.save_brief(made.session_id, b"the brief")
    assert [path.name.startswith(".brief.md.") for path, _ in flushed] == [True]
    records.save(made)
    directories = [(path, set(names)) for path, names in flushed if path.is_dir()]
    assert directories == [
        (folder, {"brief.md", "record.json"}),
        (folder.parent, {made.session_id}),
        (tmp_path / "state" / "names", {"lint"}),
    ]
    assert len(flushed) == 6


def test_what_is_forgotten_is_gone_and_nothing_else(
    records: SessionStore, kept: SessionRecord
) -> None:
    for session_id in ("", ".", "..", str(uuid.uuid4())):
        records.forget(session_id)
    assert records.by_name("lint") == kept
    records.forget(kept.session_id)
    assert records.by_name("lint") is None


@pytest.mark.parametrize("session_id", ["..", "../../elsewhere", "/elsewhere", "a\0b", "x" * 300])
def test_an_id_that_leads_elsewhere_is_refused(
    records: SessionStore, tmp_path: Path, session_id: str
) -> None:
    with pytest.raises(Refused, match="has to be a UUID"):
        records.save(record(session_id=session_id))
    with pytest.raises(Refused, match="has to be a UUID"):
        records.save_brief(session_id, b"x")
    assert sorted(os.listdir(tmp_path / "state")) == ["names", "sessions"]


@pytest.mark.parametrize("name", ["../sessions", "..", "", "a\0b", "A", "/etc/passwd"])
def test_a_name_that_is_none_means_nothing(records: SessionStore, name: str) -> None:
    assert records.by_name(name) is None


def test_a_record_that_leads_elsewhere_is_not_believed(
    records: SessionStore, kept: SessionRecord, tmp_path: Path
) -> None:
    names, sessions = tmp_path / "state" / "names", tmp_path / "state" / "sessions"
    shutil.copytree(sessions / kept.session_id, tmp_path / "elsewhere")
    (names / "lint").write_text("../../elsewhere")
    with pytest.raises(Unreadable, match="has to be a UUID"):
        records.by_name("lint")
    for other in (record("other", kept.session_id), record()):
        (names / "lint").write_text(kept.session_id)
        (sessions / kept.session_id / "record.json").write_text(other.model_dump_json())
        with pytest.raises(Unreadable, match="the record of another session"):
            records.by_name("lint")


def test_a_pipe_in_the_place_of_a_record_keeps_nobody_waiting(
    records: SessionStore, kept: SessionRecord, tmp_path: Path
) -> None:
    for file in (
        tmp_path / "state" / "sessions" / kept.session_id / "record.json",
        tmp_path / "state" / "names" / "lint",
    ):
        file.unlink()
        os.mkfifo(file)
        with pytest.raises(Unreadable, match="not a regular file"):
            records.by_name("lint")


def test_a_link_in_the_place_of_what_is_kept_is_not_followed(
    records: SessionStore, kept: SessionRecord, tmp_path: Path
) -> None:
    folder = tmp_path / "state" / "sessions" / kept.session_id
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unreadable, match="is a symbolic link"):
        records.by_name("lint")
    with pytest.raises(Refused, match="its folder is a symbolic link"):
        records.brief(kept.session_id)
    with pytest.raises(Refused, match="symbolic link"):
        records.save(kept.model_copy(update={"dir": "/changed"}))
    records.forget(kept.session_id)
    assert "changed" not in (tmp_path / "elsewhere" / "record.json").read_text()


def test_a_brief_that_was_replaced_by_a_link_is_refused_not_left_out(
    records: SessionStore, kept: SessionRecord, tmp_path: Path
) -> None:
    """R21: a session goes on with its brief or not at all."""
    brief = records.brief(kept.session_id)
    assert brief is not None
    brief.unlink()
    brief.symlink_to("/etc/hostname")
    with pytest.raises(Refused, match="put the brief back"):
        records.brief(kept.session_id)
