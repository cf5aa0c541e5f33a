"""Terminals: a bash for each, whose variables and folder last from block to block."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from docs.pages import Block, Interrupt, Step, matches

BLOCK_S = 120.0
"""The most a block of commands may take."""

# programs that stay in the foreground until Ctrl-C
_STAYS = re.compile(r"(?:\w+=\S* )*(?:\S*/)?(?:hive-subagent-daemon |tail .*-F |python3 \S*listen)")
_ENDED = "<the shell ended>"


def stays(block: Block) -> bool:
    """Whether the last command of a block runs until Ctrl-C."""
    return _STAYS.match(block.text.rstrip().rpartition("\n")[2]) is not None


class Terminal:
    """One bash, which ends with the first command that fails, so that a test sees it."""

    def __init__(
        self, name: str, folder: Path, begin: Path, environment: Mapping[str, str]
    ) -> None:
        self._name = name
        self._folder = folder
        self._mark = ""
        self._count = 0
        self._said = ""
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=begin,
            env=dict(environment),
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()
        # as in a shell that somebody types into, Ctrl-C ends the program and not the shell
        self._send("trap : INT; set -e")

    def run(self, commands: str, until: Callable[[str], bool] | None = None) -> str:
        """Run commands to their end, or until their output is as `until` says; returns it."""
        self._count += 1
        self._mark = f"<end of block {self._count}>"
        file = self._folder / f"terminal-{self._name}-{self._count}"
        file.write_text(commands)
        start = len(self._said)
        # commands must not read what is typed next
        self._send(f". '{file}' </dev/null; echo '{self._mark}'")
        return self._wait(start, until)

    def interrupt(self) -> None:
        """Ctrl-C, and wait for the prompt."""
        start = len(self._said)
        os.killpg(self._process.pid, signal.SIGINT)
        self._wait(start, None)

    def close(self) -> None:
        """End the shell and what runs in its foreground."""
        try:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(20)
        except ProcessLookupError:
            self._process.wait()
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reader.join(20)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _follow(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._add(line)
        self._add(_ENDED)

    def _add(self, text: str) -> None:
        with self._changed:
            self._said += text
            self._changed.notify_all()

    def _wait(self, start: int, until: Callable[[str], bool] | None) -> str:
        def done() -> bool:
            said = self._said[start:]
            return self._mark in said or _ENDED in said or bool(until and until(said))

        with self._changed:
            in_time = self._changed.wait_for(done, BLOCK_S)
        said = self._said[start:]
        where = f"terminal {self._name}"
        assert in_time, f"{where}: not done after {BLOCK_S:.0f} s:\n{said}"
        assert _ENDED not in said, f"{where}: a command failed:\n{said}"
        if until is not None:
            assert self._mark not in said, f"{where}: did not stay in the foreground:\n{said}"
        return said.partition(self._mark)[0]


@contextmanager
def terminals(
    folder: Path, begin: Path, environment: Mapping[str, str]
) -> Iterator[Callable[[str], Terminal]]:
    """Terminals by name, opened in `begin` when they are first asked for, closed at the end.

    What is typed is kept in `folder`, which must be there.
    """
    opened: dict[str, Terminal] = {}

    def terminal(name: str) -> Terminal:
        if name not in opened:
            opened[name] = Terminal(name or "only", folder, begin, environment)
        return opened[name]

    try:
        yield terminal
    finally:
        for one in opened.values():
            one.close()


def play(
    steps: Sequence[Step],
    terminal: Callable[[str], Terminal],
    change: Callable[[str], str],
) -> None:
    """Do what a page says, in order, and compare each output with the one that it shows.

    `change` fits commands and outputs to a test, for example the port. Blocks in other languages
    than `sh`, and those that the page marks as not run, are passed over.
    """
    for step in steps:
        if isinstance(step, Interrupt):
            terminal(step.terminal).interrupt()
        elif step.language == "sh" and step.not_run is None:
            _enter(step, terminal(step.terminal), change)


def _enter(block: Block, terminal: Terminal, change: Callable[[str], str]) -> None:
    shown = None if block.expected is None else change(block.expected)
    where = f"{block.page}:{block.line}"
    if stays(block):
        assert shown is not None, f"{where}: the page does not say what is seen when it runs"
        visible = shown
        before, _, last = block.text.rstrip().rpartition("\n")
        terminal.run(change(before))
        # what Ctrl-C ends has either ended well or died of it
        foreground = f"{change(last)} || [ $? = 130 ]"
        terminal.run(foreground, until=lambda said: matches(visible, said))
        return
    said = terminal.run(change(block.text))
    if shown is not None:
        assert matches(shown, said), f"{where} shows\n{shown}\nbut the output is\n{said}"
