"""Report files: named by callers and subagents, appended to, never followed."""

import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.instance import (
    append_report,
)
from hive_subagent.visible import on_lines, on_one_line

# locks argv[1], says so, and holds until its stdin ends
HOLDER = """
import sys
from pathlib import Path
from hive_subagent.instance import lock_directory
held = lock_directory(Path(sys.argv[1]), {"version": "1"})
print("locked", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_every_report_is_appended_on_lines_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    file = tmp_path_factory.mktemp("reports") / "report.md"
    for text in texts:
        assert append_report(file, text) is None
    shown = [on_lines(text) for text in texts]
    expected = "".join(text if text.endswith("\n") else text + "\n" for text in shown)
    assert file.read_bytes() == expected.encode()
    assert mode(file) == 0o600


def test_a_report_goes_after_a_last_line_without_its_end(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("what the subagent wrote")
    assert append_report(tmp_path / "r", "how it ended\n") is None
    assert (tmp_path / "r").read_text() == "what the subagent wrote\nhow it ended\n"


def test_a_lone_surrogate_reaches_the_report_as_its_escape(tmp_path: Path) -> None:
    assert append_report(tmp_path / "r", "a\ud800b") is None
    assert (tmp_path / "r").read_bytes() == b"a\\ud800b\n"


def test_a_report_cannot_act_on_the_terminal_that_shows_it(tmp_path: Path) -> None:
    assert append_report(tmp_path / "r", "a\x1b[2Jb\tc\r\nd\re") is None
    assert (tmp_path / "r").read_bytes() == b"a\\x1b[2Jb\tc\r\nd\\re\n"


def test_a_link_in_the_place_of_a_report_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("keep")
    (tmp_path / "r").symlink_to(tmp_path / "target")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("r", "dangling"):
        problem = append_report(tmp_path / name, "x")
        assert problem is not None
        assert "symbolic link" in problem
    assert (tmp_path / "target").read_text() == "keep"
    assert not (tmp_path / "nowhere").exists()


def test_a_report_below_a_missing_directory_is_a_line_and_makes_nothing(tmp_path: Path) -> None:
    problem = append_report(tmp_path / "missing" / "r.md", "x")
    assert problem is not None
    assert "its directory does not exist" in problem
    assert os.listdir(tmp_path) == []


def test_a_report_into_something_else_than_a_file_is_a_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name in ("pipe", "directory", "socket", "nul\0"):
            problem = append_report(tmp_path / name, "x")
            assert problem is not None
            assert on_one_line(str(tmp_path / name)) in problem
            assert len(problem.splitlines()) == 1
    assert append_report(Path("/dev/null"), "x") is not None
