"""Claude's sessions on disk: where one lies, how it is put away, whether one could be kept."""

import ctypes
import os
import re
import stat
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.claude.transcripts import (
    archive,
    config_dir_problem,
    encode_directory,
    find,
    find_archived,
    transcript_path,
)
from hive_subagent.errors import Refused

SESSION = "0b5ed1b4-3a51-4d3c-9f6e-7a0d8c1f2e3a"


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


def test_the_latest_archive_of_a_session_is_found(tmp_path: Path) -> None:
    assert find_archived(tmp_path, "/nowhere/a", SESSION) is None
    for number in range(11):
        last = archive(transcript(tmp_path, content=str(number)))
    other = SESSION.replace("0", "1")
    assert other != SESSION
    last.with_name(f"{other}.99.jsonl.archived").touch()
    assert find_archived(tmp_path, "/nowhere/a", SESSION) == last
    assert find_archived(tmp_path, "/nowhere/a", "../" + SESSION) is None


def test_an_archive_of_nothing_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    path = transcript(tmp_path)
    path.unlink()
    with pytest.raises(Refused, match=f"session {SESSION} could not be archived"):
        archive(path)
    assert os.listdir(path.parent) == []


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
