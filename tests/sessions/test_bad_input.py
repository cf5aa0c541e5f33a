"""Calls that cannot be carried out: one clear line, nothing lost, nothing spawned, nothing owed."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.house import House, house
from support.refusals import refused

from hive_subagent.errors import Refused
from hive_subagent.sessions.checks import NAME, check_name
from hive_subagent.sessions.options import Options
from hive_subagent.sessions.paths import check_directory, check_report_file

NAMES = {
    "empty": "",
    "a dash first": "-x",
    "a slash": "a/b",
    "upper case": "Lint",
    "an underscore": "a_b",
    "a dot": "..",
    "a blank": "a b",
    "a line end": "a\n",
    "a letter of another script": "é",
    "a digit of another script": "\u0661",
    "64 characters": "a" * 64,
    "a megabyte": "a" * 1_000_000,
}
Make = Callable[[Path], str]


def missing(root: Path) -> str:
    return str(root / "missing.md")


def directory(root: Path) -> str:
    return str(root)


def ten_megabytes(root: Path) -> str:
    (root / "big.md").write_bytes(b"x" * 10_000_000)
    return str(root / "big.md")


def fifo(root: Path) -> str:
    os.mkfifo(root / "fifo")
    return str(root / "fifo")


def listening_socket(root: Path) -> str:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(root / "socket"))
    return str(root / "socket")


def blank(root: Path) -> str:
    (root / "blank.md").write_text(" \n\t\n")
    return str(root / "blank.md")


def dangling(root: Path) -> str:
    (root / "link.md").symlink_to(root / "missing.md")
    return str(root / "link.md")


def latin_1(root: Path) -> str:
    (root / "latin-1.md").write_bytes(b"# Brief\nCaf\xe9\n")
    return str(root / "latin-1.md")


def utf_16(root: Path) -> str:
    (root / "utf-16.md").write_bytes("\ufeffx".encode("utf-16-le"))
    return str(root / "utf-16.md")


def cut_character(root: Path) -> str:
    (root / "cut.md").write_bytes("Caf\u00e9".encode()[:-1])
    return str(root / "cut.md")


def byte_order_mark(root: Path) -> str:
    (root / "mark.md").write_bytes(b"\xef\xbb\xbf\n")
    return str(root / "mark.md")


PROMPT_FILES: dict[Make, str] = {
    missing: "No such file",
    directory: "is not a regular file",
    ten_megabytes: "is over 4194304 bytes",
    fifo: "is not a regular file",
    listening_socket: "is not a regular file",
    blank: "is blank",
    dangling: "No such file",
    latin_1: r"is not UTF-8: byte 0xe9 at offset 11 \(line 2\); save it as UTF-8",
    utf_16: r"is not UTF-8: byte 0xff at offset 0 \(line 1\)",
    cut_character: r"is not UTF-8: byte 0xc3 at offset 3",
    byte_order_mark: "is blank",
    lambda root: "": "is not a regular file",
    lambda root: "x\0y": "holds a NUL byte",
    lambda root: "y" * 5000: "is longer than a path can be",
    lambda root: "~nobody-of-that-name/x": "No such file",
}
DIRS: dict[Make, str] = {
    missing: "is not a directory",
    blank: "is not a directory",
    lambda root: "x\0y": "holds a NUL byte",
    lambda root: "y" * 5000: "is longer than a path can be",
    lambda root: "y" * 300: "is not a directory",
    lambda root: "~nobody-of-that-name": "is not a directory",
}
WISHES: list[tuple[dict[str, Any], str]] = [
    ({"max_turns": 0}, "max_turns 0 is out of range"),
    ({"max_turns": -1}, "max_turns -1 is out of range"),
    ({"max_turns": 10**9}, "is out of range: give 1 to 1000"),
    ({"goal": "g" * 70_000}, "goal is over 65536 bytes"),
    ({"model": "a\0b"}, "model 'a.x00b' is not usable"),
    ({"model": "m" * 5000}, "is not usable"),
    ({"report_file": "missing/report.md"}, "report_file .*missing/report.md cannot be a file"),
    ({"report_file": "."}, "is not a regular file"),
    ({"report_file": "x\0"}, "report_file holds a NUL byte"),
    ({"report_file": "y" * 5000}, "report_file"),
    ({"memory_max": "lots"}, "memory_max 'lots' is not a size"),
    ({"turn_timeout_s": 0}, "turn_timeout_s 0 is out of range"),
    ({"turn_timeout_s": float("nan")}, "turn_timeout_s nan is out of range"),
]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_a_bad_name_is_refused_by_every_tool(home: House, name: str) -> None:
    """R30."""
    service = home.service
    for call in (
        service.start(name, home.brief()),
        service.continue_(name, "go on"),
        service.status(name),
        service.interrupt(name),
    ):
        await refused(home, call, "use 1 to 63 of a-z, 0-9 and -, not starting with -")


@given(st.text(max_size=70))
def test_a_name_that_passes_can_be_no_flag_no_path_and_no_second_line(name: str) -> None:
    """R30."""
    try:
        assert check_name(name) == name
    except Refused:
        assert not NAME.fullmatch(name)
        return
    assert name.isascii()
    assert name == name.lower().strip()
    assert name[0] != "-"
    assert not set(name) & set("/.\0\n")


@pytest.mark.parametrize("make", PROMPT_FILES, ids=lambda make: make.__name__)
async def test_a_bad_prompt_file_is_refused(home: House, make: Make) -> None:
    """Issue 9, 13: what is not UTF-8 would reach the model as replacement characters."""
    call = home.service.start("agent", make(home.root))
    await refused(home, call, f"prompt_file.*{PROMPT_FILES[make]}")


@pytest.mark.parametrize("make", DIRS, ids=lambda make: make.__name__)
async def test_a_bad_directory_is_refused(home: House, make: Make) -> None:
    where, brief = make(home.root), home.brief()
    await refused(home, home.service.start("agent", brief, dir=where), f"dir.*{DIRS[make]}")
    await refused(home, home.service.continue_("agent", "x", dir=where), f"dir.*{DIRS[make]}")


@pytest.mark.parametrize(("wish", "match"), WISHES, ids=[str(wish)[:30] for wish, _ in WISHES])
async def test_a_bad_wish_is_refused(home: House, wish: dict[str, Any], match: str) -> None:
    options = Options(**wish)
    await refused(home, home.service.start("agent", home.brief(), options=options), match)
    await refused(home, home.service.continue_("agent", "go on", options=options), match)


@pytest.mark.parametrize("blank_text", ["", " ", "\n\t\r\n", "\u2003"])
async def test_a_blank_prompt_is_refused(home: House, blank_text: str) -> None:
    """Claude would end with exit code 0 and not a word."""
    await refused(home, home.service.continue_("agent", blank_text), "prompt is blank")
    if blank_text:
        call = home.service.start("agent", home.brief(), trigger=blank_text)
        await refused(home, call, "trigger is blank")


async def test_a_prompt_too_long_for_claude_is_refused(home: House) -> None:
    long = "é" * 5_000_000
    await refused(home, home.service.continue_("agent", long), "prompt is over 9437184 bytes")
    call = home.service.start("agent", home.brief(), trigger=long)
    await refused(home, call, "trigger is over 9437184 bytes")


async def test_an_unreadable_prompt_file_is_refused(
    home: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root can read anything, so the kernel's answer is played here."""
    brief = home.brief()
    opened = os.open

    def denied(path: Any, *given: Any, **further: Any) -> int:
        if str(path) == brief:
            raise PermissionError(13, "Permission denied", brief)
        return opened(path, *given, **further)

    monkeypatch.setattr(os, "open", denied)
    call = home.service.start("agent", brief)
    await refused(home, call, f"prompt_file {brief}: Permission denied; name a readable file")


@pytest.mark.parametrize("program", ["no-such-claude", "/nonexistent/claude", "/etc/passwd"])
async def test_a_missing_claude_is_named(tmp_path: Path, program: str) -> None:
    async with house(tmp_path, claude_bin=program) as home:
        call = home.service.start("agent", home.brief())
        await refused(home, call, f"claude_bin '{program}' is not an executable on PATH")


async def test_a_program_that_cannot_run_is_the_error_of_the_call(tmp_path: Path) -> None:
    program = tmp_path / "broken-claude"
    program.write_bytes(b"\x7fELF of another machine")
    program.chmod(0o755)
    async with house(tmp_path, claude_bin=str(program)) as home:
        await refused(home, home.service.start("agent", home.brief()), "broken-claude")


@pytest.mark.parametrize("what", ["dir", "report_file"])
def test_a_link_that_cannot_be_read_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Issue 9, 22: to resolve a path can be denied, as it is for links of other users in /proc."""

    def denied(path: Path) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os.path, "realpath", denied)
    checks: dict[str, Callable[[], object]] = {
        "dir": lambda: check_directory("work", base=tmp_path),
        "report_file": lambda: check_report_file("report.md", base=tmp_path),
    }
    with pytest.raises(Refused, match=f"^{what} /.*: Permission denied; name another$"):
        checks[what]()
