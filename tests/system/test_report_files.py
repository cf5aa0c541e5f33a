"""Report files: named by callers and subagents, appended to, never followed."""

import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.system.report_files import append_report
from hive_subagent.system.sanitize import on_lines, on_one_line


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


def test_a_report_is_not_written_where_a_parent_became_a_link(tmp_path: Path) -> None:
    """Issue 10, 13: checked when it was named, and turned into a link during the run."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "reports").symlink_to(tmp_path / "elsewhere")
    problem = append_report(tmp_path / "reports" / "r.md", "x")
    assert problem is not None
    assert "reports in its path is a symbolic link" in problem
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.parametrize(
    "named",
    [
        "../outside.md",
        "sub/../../outside.md",
        "{outside}/outside.md",
        ".",
        "..",
        "/",
        "linked/r.md",
        "link.md",
        "hard.md",
    ],
)
def test_a_subagents_report_is_written_beneath_its_directory_only(
    tmp_path: Path, named: str
) -> None:
    """Issue 10, 13: the daemon writes no file that a subagent has no reason to name."""
    session, outside = tmp_path / "session", tmp_path / "outside"
    (session / "sub").mkdir(parents=True)
    outside.mkdir()
    secret = outside / "bashrc"
    secret.write_text("keep\n")
    (session / "linked").symlink_to(outside)
    (session / "link.md").symlink_to(secret)
    os.link(secret, session / "hard.md")
    problem = append_report(Path(named.format(outside=outside)), "rm -rf", beneath=session)
    assert problem is not None
    assert "was not written" in problem
    assert secret.read_text() == "keep\n"
    assert [*outside.iterdir()] == [secret]
    assert {p.name for p in tmp_path.iterdir()} == {"session", "outside"}


@pytest.mark.parametrize("named", ["r.md", "sub/r.md", "sub/../r.md", "{session}/sub/r.md"])
def test_a_subagents_report_in_its_directory_is_written(tmp_path: Path, named: str) -> None:
    session = tmp_path / "session"
    (session / "sub").mkdir(parents=True)
    path = Path(named.format(session=session))
    assert append_report(path, "done", beneath=session) is None
    assert (session / path).resolve().read_text() == "done\n"
