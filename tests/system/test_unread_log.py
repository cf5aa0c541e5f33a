"""Nobody reads the daemon's stderr: it serves, and stops, all the same."""

from __future__ import annotations

import logging
import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support import rpc
from support.daemon import Daemon

from hive_subagent.system.logs import BackgroundHandler, LogWriter

PIPE_BYTES = 64 * 1024

# each of them is worth a warning of about a hundred bytes at the start
MANY_LINES = {f"HIVE_SUBAGENT_UNKNOWN_{number}": "x" for number in range(800)}


class Unread(Daemon):
    """A daemon whose stderr is a pipe that is not read until somebody asks for the log."""

    def spawn(self, *arguments: str, pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
        self.reading, writing = os.pipe()
        try:
            self.launcher = ("sh", "-c", f'exec "$@" 2>/proc/self/fd/{writing}', "sh")
            return super().spawn(*arguments, pass_fds=(*pass_fds, writing))
        finally:
            os.close(writing)


@pytest.fixture
def unread(tmp_path: Path) -> Iterator[Unread]:
    made = Unread(tmp_path)
    made.environment |= MANY_LINES
    yield made
    if made.process is not None:
        made.process.kill()
        made.process.wait()
        os.close(made.reading)


def test_a_daemon_whose_log_is_not_read_serves_and_stops(unread: Unread) -> None:
    """Issue 9, 19: after 64 KiB its event loop stood still, and SIGTERM with it."""
    unread.start()
    assert rpc.request(f"{unread.url}/healthz").status == 200
    assert unread.stop() == 0
    # as much as fits, short of a last line
    assert len(os.read(unread.reading, 2 * PIPE_BYTES)) > PIPE_BYTES - 4096


def test_a_daemon_that_cannot_start_ends_although_its_log_is_not_read(unread: Unread) -> None:
    """Issue 9, 19."""
    unread.settings["todo_sinks"] = ["smoke:/signals"]
    process = unread.process = unread.spawn()
    assert process.wait(20) == 2
    assert os.read(unread.reading, 100).startswith(b"WARNING hive_subagent: HIVE_SUBAGENT_UNKNOWN_")


def read_lines(descriptor: int) -> Iterator[str]:
    """The lines of a pipe as they come; it fails when none comes for 20 s."""
    rest = b""
    while True:
        *lines, rest = rest.split(b"\n")
        yield from (f"{line.decode()}\n" for line in lines)
        assert select.select([descriptor], [], [], 20)[0], "waited in vain for a line"
        rest += os.read(descriptor, PIPE_BYTES)


def test_dropped_lines_are_counted_and_reported_once_the_log_is_read() -> None:
    """Issue 9, 19."""
    reading, writing = os.pipe()
    writer = LogWriter(writing, most_bytes=10_000)
    line = b"x" * 999 + b"\n"
    fits_at_least = (PIPE_BYTES + 10_000) // 1000
    for _ in range(fits_at_least + 100):
        writer.write(line)
    assert not writer.flush(0)
    lines = read_lines(reading)
    kept = 0
    for each in lines:
        if "dropped" in each:
            break
        kept += 1
    assert each == (
        f"WARNING hive_subagent.system.logs: {fits_at_least + 100 - kept} lines before"
        " this one were dropped\n"
    )
    assert kept >= PIPE_BYTES // 1000
    writer.write(b"after\n")
    assert next(lines) == "after\n"
    assert writer.flush(20)
    os.close(reading)
    os.close(writing)


def test_a_log_whose_reader_is_gone_costs_nothing() -> None:
    """Issue 9, 19: a closed terminal."""
    reading, writing = os.pipe()
    os.close(reading)
    writer = LogWriter(writing, most_bytes=100)
    for _ in range(50):
        writer.write(b"x" * 50 + b"\n")
    assert writer.flush(20)
    os.close(writing)


def test_a_logged_line_is_there_at_once_where_the_log_is_read(tmp_path: Path) -> None:
    """Whoever looks at the log after an event finds what was logged before it."""
    with (tmp_path / "log").open("wb") as file:
        writer = LogWriter(file.fileno())
        for number in range(200):
            writer.write(b"%d\n" % number)
            writer.flush(20)
        assert (tmp_path / "log").read_text().splitlines()[-1] == "199"


def test_a_record_that_cannot_be_formatted_becomes_a_line(tmp_path: Path) -> None:
    """Issue 9, 19: logging's own answer is a trace on stderr, which may block."""
    with (tmp_path / "log").open("wb") as file:
        writer = LogWriter(file.fileno())
        handler = BackgroundHandler(writer)
        handler.emit(logging.LogRecord("a", logging.INFO, "", 1, "%d\nx", ("y",), None))
        assert writer.flush(20)
    [line] = (tmp_path / "log").read_text().splitlines()
    assert line.startswith("ERROR a: cannot format '%d\\nx': TypeError(")
