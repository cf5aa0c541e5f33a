"""Who else has a session open: a claude by its own notes, a daemon by its lock."""

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from hive_subagent.claude.session_lock import TranscriptLock, live_holder
from hive_subagent.claude.transcripts import archive, transcript_path
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


def transcript(config_dir: Path, directory: str = "/nowhere/a", content: str = "{}\n") -> Path:
    path = transcript_path(config_dir, directory, SESSION)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def note(
    config_dir: Path, pid: object, session_id: object = SESSION, *, name: str = "", **more: str
) -> Path:
    (config_dir / "sessions").mkdir(exist_ok=True)
    file = config_dir / "sessions" / f"{name or pid}.json"
    noted = {"pid": pid, "sessionId": session_id, "cwd": "/", "name": "n", **more}
    file.write_text(json.dumps(noted))
    return file


def test_a_living_claude_with_the_session_open_is_found(tmp_path: Path) -> None:
    """R22: a claude started by hand takes no lock, its own notes tell of it."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as claude:
        note(tmp_path, claude.pid)
        assert live_holder(tmp_path, SESSION) == claude.pid
        assert live_holder(tmp_path, SESSION.upper()) == claude.pid
        assert live_holder(tmp_path, str(uuid4())) is None
        assert live_holder(tmp_path, SESSION, ignore_pids={claude.pid}) is None


def test_a_dead_or_unreaped_claude_holds_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as claude:
        note(tmp_path, claude.pid)
        claude.kill()
        os.waitid(os.P_PID, claude.pid, os.WEXITED | os.WNOWAIT)
        assert live_holder(tmp_path, SESSION) is None
    assert live_holder(tmp_path, SESSION) is None


def test_a_pid_that_was_given_again_holds_nothing(tmp_path: Path) -> None:
    """R16: the note is older than the process that has the pid now, or names another start."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as stranger:
        file = note(tmp_path, stranger.pid)
        hour_ago = time.time() - 3600
        os.utime(file, (hour_ago, hour_ago))
        assert live_holder(tmp_path, SESSION) is None
        note(tmp_path, stranger.pid, procStart="1")
        assert live_holder(tmp_path, SESSION) is None
        start = Path(f"/proc/{stranger.pid}/stat").read_text().split()[21]
        note(tmp_path, stranger.pid, procStart=start)
        assert live_holder(tmp_path, SESSION) == stranger.pid


def test_a_command_with_parentheses_is_read_like_any(tmp_path: Path) -> None:
    script = tmp_path / "a) Z (b"
    script.write_text("#!/bin/sh\nread line\n")
    script.chmod(0o700)
    with subprocess.Popen([script], stdin=subprocess.PIPE) as claude:
        note(tmp_path, claude.pid)
        assert live_holder(tmp_path, SESSION) == claude.pid


def test_broken_notes_are_passed_over(tmp_path: Path) -> None:
    for number, pid in enumerate(("7", 0, -1, True, None, [1], 1.5, 2**70)):
        note(tmp_path, pid, name=f"0{number}")
    note(tmp_path, os.getpid(), session_id=["x"], name="list")
    sessions = tmp_path / "sessions"
    (sessions / "a.json").write_bytes(b"\xff{")
    (sessions / "b.json").write_text("[" * 100_000)
    (sessions / "c.json").write_text("[]")
    (sessions / "d.json").mkdir()
    os.mkfifo(sessions / "e.json")
    assert live_holder(tmp_path, SESSION) is None
    note(tmp_path, os.getpid(), name="zz")
    assert live_holder(tmp_path, SESSION) == os.getpid()


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
