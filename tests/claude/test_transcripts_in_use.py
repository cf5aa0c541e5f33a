"""Who else has a session open, and whether claude could save one at all."""

import json
import os
import stat
import subprocess
import time
from pathlib import Path
from uuid import uuid4

import pytest

from hive_subagent.claude.transcripts import config_dir_problem, live_holder, transcript_path

SESSION = "0b5ed1b4-3a51-4d3c-9f6e-7a0d8c1f2e3a"


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


def test_a_config_directory_is_made_and_left_clean(tmp_path: Path) -> None:
    home = tmp_path / "a" / "claude"
    assert config_dir_problem(home, "/nowhere/a") is None
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    kept = transcript_path(home, "/nowhere/a", SESSION)
    kept.parent.mkdir(parents=True)
    kept.touch()
    assert config_dir_problem(home, "/nowhere/a") is None
    assert os.listdir(home) == ["projects"]
    assert os.listdir(home / "projects") == ["-nowhere-a"]


@pytest.mark.parametrize("place", ["file", "file/below", "home/projects", "home/projects/-x"])
def test_a_place_where_nothing_can_be_saved_is_named_with_the_mend(
    tmp_path: Path, place: str
) -> None:
    """R24: claude would run on and save nothing; tried for real, so it holds for root too."""
    blocked = tmp_path / place
    target = tmp_path / ("file" if place.startswith("file") else place)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("in the way")
    home = tmp_path / "home" if place.startswith("home") else blocked
    problem = config_dir_problem(home, "/x")
    assert problem is not None
    assert f"claude cannot save sessions in {blocked}" in problem
    assert "claude_config_dir" in problem
    assert len(problem.splitlines()) == 1


def test_a_file_system_that_takes_no_files_is_told_even_to_root() -> None:
    """R24."""
    assert config_dir_problem(Path("/proc/self")) is not None
    assert config_dir_problem(Path("/proc/nowhere/claude")) is not None
