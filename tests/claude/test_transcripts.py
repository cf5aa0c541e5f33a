"""Claude's sessions on disk: the folder's name, where one is found, archive, lock."""

import ctypes
import fcntl
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.claude.transcripts import (
    TranscriptLock,
    archive,
    encode_directory,
    find,
    transcript_path,
)
from hive_subagent.errors import Refused

SESSION = "0b5ed1b4-3a51-4d3c-9f6e-7a0d8c1f2e3a"

# flocks argv[1], says so, and holds until its stdin ends
HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/", "-"),
        ("/nowhere/co_l", "-nowhere-co-l"),
        ("/nowhere/co.l", "-nowhere-co-l"),
        ("/nowhere/Case/0z", "-nowhere-Case-0z"),
        ("/nowhere/a b\nc", "-nowhere-a-b-c"),
        ("/nowhere/é", "-nowhere--"),
        ("/nowhere/😀", "-nowhere---"),
        ("/nowhere/e\u0301", "-nowhere-e-"),
        ("/n/" + "a" * 197, "-n-" + "a" * 197),
        # the endings come from the formula run by a JavaScript engine
        ("/opt/" + "a" * 196, "-opt-" + "a" * 195 + "-weuwqz"),
        ("/srv/" + "é😀_" * 60, "-srv-" + "-" * 195 + "-d1x5bv"),
        ("/srv/" + "0123456789" * 25, "-srv-" + "0123456789" * 19 + "01234" + "-v7f1q4"),
    ],
)
def test_a_project_folder_is_named_as_claude_names_it(path: str, name: str) -> None:
    assert encode_directory(path) == name


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300))
def test_a_folder_name_follows_the_formula_for_any_path(below: str) -> None:
    real = os.path.realpath("/nowhere/" + below)
    name = re.sub(r"[^A-Za-z0-9]", lambda found: "--" if found[0] > "\uffff" else "-", real)
    if len(name) > 200:
        digest = 0
        encoded = real.encode("utf-16-le")
        for (unit,) in struct.iter_unpack("<H", encoded):
            digest = ctypes.c_int32(digest * 31 + unit).value
        start, _, tail = encode_directory(real).rpartition("-")
        assert start == name[:200]
        assert int(tail, 36) == abs(digest)
        assert tail == tail.lower().lstrip("0")
    else:
        assert encode_directory(real) == name


def test_a_link_shares_the_folder_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert encode_directory(tmp_path / "link") == encode_directory(tmp_path / "real")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/a\0b", "not a possible path"),
        ("/a\ud800b", "not a possible path"),
        (os.fsdecode(b"/a\xff"), "not UTF-8"),
    ],
)
def test_an_impossible_directory_is_refused_by_name(path: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as caught:
        encode_directory(path)
    str(caught.value).encode()  # fit for people and models


def transcript(config_dir: Path, directory: str = "/nowhere/a", content: str = "{}\n") -> Path:
    path = transcript_path(config_dir, directory, SESSION)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_a_session_is_found_in_the_folder_of_its_directory_first(tmp_path: Path) -> None:
    transcript(tmp_path, "/nowhere/a")
    second = transcript(tmp_path, "/nowhere/b")
    assert find(tmp_path, "/nowhere/b", SESSION) == second


def test_a_session_is_found_in_another_project_folder(tmp_path: Path) -> None:
    path = transcript(tmp_path, "/nowhere/main")
    assert find(tmp_path, "/nowhere/worktree", SESSION) == path


def test_what_is_no_transcript_is_not_found(tmp_path: Path) -> None:
    assert find(tmp_path, "/nowhere/a", SESSION) is None
    path = transcript(tmp_path)
    for wrong in ("*", "a title", f"../{path.parent.name}/{SESSION}", SESSION + "\n", ""):
        assert find(tmp_path, "/nowhere/a", wrong) is None
    archive(path)
    path.mkdir()
    assert find(tmp_path, "/nowhere/a", SESSION) is None


def test_an_id_that_is_no_uuid_makes_no_path(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a session id"):
        transcript_path(tmp_path, "/nowhere/a", "../../secret")


def test_archives_never_overwrite_each_other(tmp_path: Path) -> None:
    archived = [archive(transcript(tmp_path, content=text)) for text in ("one", "two", "three")]
    assert [path.read_text() for path in archived] == ["one", "two", "three"]
    assert [path.name for path in archived] == [
        f"{SESSION}.jsonl.archived",
        f"{SESSION}.2.jsonl.archived",
        f"{SESSION}.3.jsonl.archived",
    ]
    assert find(tmp_path, "/nowhere/a", SESSION) is None


def test_an_archive_of_nothing_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    path = transcript(tmp_path)
    path.unlink()
    with pytest.raises(Refused, match=f"session {SESSION} could not be archived"):
        archive(path)
    assert os.listdir(path.parent) == []


def test_a_session_in_use_is_refused_naming_the_holder(tmp_path: Path) -> None:
    """R22: a second process that would interleave its lines with the first is refused."""
    path = transcript(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(Refused, match=f"{SESSION} is in use by process {holder.pid};"):
            TranscriptLock(path)
        holder.kill()
        holder.wait()
        with TranscriptLock(path), pytest.raises(Refused, match=f"by process {os.getpid()};"):
            TranscriptLock(path)
        TranscriptLock(path).release()


def test_a_child_does_not_keep_the_lock_of_a_transcript(tmp_path: Path) -> None:
    lock = TranscriptLock(transcript(tmp_path))
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False):
        lock.release()
        lock.release()
        TranscriptLock(lock.path).release()


def test_only_a_regular_file_is_locked(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("link", "pipe", "missing"):
        with pytest.raises(Refused, match=f"session {name}: its transcript"):
            TranscriptLock(tmp_path / f"{name}.jsonl")


def test_a_transcript_archived_while_it_was_opened_is_not_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = transcript(tmp_path)
    flock = fcntl.flock

    def archived_first(descriptor: int, operation: int) -> None:
        archive(path)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", archived_first)
    with pytest.raises(Refused, match="archived a moment ago"):
        TranscriptLock(path)
