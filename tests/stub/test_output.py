"""Stdout: what a slow, stalled or vanished reader gets, and which characters are escaped."""

from __future__ import annotations

import json
import os
import subprocess

from hypothesis import given
from hypothesis import strategies as st

from hive_subagent_stub.output import line
from stub.process import PROGRAM, STREAM, TIMEOUT_S, Home, directive, eventually

LONG = 300_000


@given(st.text(st.characters(codec=None)))
def test_a_line_is_one_line_of_valid_utf8_that_says_the_same(text: str) -> None:
    raw = line({"text": text})
    assert raw.count(b"\n") == 1
    assert raw.endswith(b"\n")
    assert json.loads(raw.decode("utf-8"))["text"] == text


def test_u2028_is_escaped_and_u0085_is_not() -> None:
    assert line({"t": "\u2028\u0085"}) == b'{"t":"\\u2028\xc2\x85"}\n'
    assert line({"t": "\ud800"}) == b'{"t":"\\ud800"}\n'


def stalled(home: Home, version: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A run whose reader has not begun to read."""
    process = subprocess.Popen(
        [PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=home.work,
        env=home.environment(version),
    )
    prompt = directive({"big_text": LONG}, {"touch": str(home.root / "done")})
    assert process.stdin is not None
    process.stdin.write(prompt.encode())
    process.stdin.close()
    return process


def test_197_loses_what_a_stalled_reader_left_and_exits_well(home: Home) -> None:
    """R4"""
    process = stalled(home, "2.1.197", *STREAM)
    assert process.wait(timeout=TIMEOUT_S) == 0
    assert process.stdout is not None
    with process.stdout:
        data = process.stdout.read()
    # what a pipe holds: less than 64 KiB by the unused ends of its pages
    assert 60000 < len(data) <= 65536
    assert not data.endswith(b"\n")


def test_332_waits_for_its_reader_and_the_tools_go_on_meanwhile(home: Home) -> None:
    process = stalled(home, "2.1.332", *STREAM)
    eventually((home.root / "done").exists)
    assert process.stdout is not None
    with process.stdout:
        data = process.stdout.read()
    assert json.loads(data.splitlines()[-1])["type"] == "result"
    assert process.wait(timeout=TIMEOUT_S) == 0


def test_a_file_gets_everything_in_both_versions(home: Home) -> None:
    for version in ("2.1.197", "2.1.332"):
        with (home.root / "out").open("wb") as out:
            claude = home.start(*STREAM, version=version, stdout=out.fileno())
        claude.write(directive({"big_text": LONG}).encode())
        claude.close_stdin()
        assert claude.rc() == 0
        lines = (home.root / "out").read_bytes().splitlines()
        assert len(json.loads(lines[-1])["result"]) == LONG


def test_a_reader_that_goes_away_does_not_stop_the_run(home: Home) -> None:
    done, begun = home.root / "done", home.root / "begun"
    reader, writer = os.pipe()
    claude = home.start(*STREAM, stdout=writer)
    os.close(writer)
    steps = [{"touch": str(begun)}, {"wait_file": str(home.root / "go")}, {"text": "unheard"}]
    claude.write(directive(*steps, {"bash": f"touch {done}"}).encode())
    claude.close_stdin()
    eventually(begun.exists)
    os.close(reader)
    (home.root / "go").touch()
    assert claude.rc() == 0
    assert done.exists()
