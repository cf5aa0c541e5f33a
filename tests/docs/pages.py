"""What a page asks its reader to do: blocks of commands, the terminal of each, and the outputs.

A page says it so that a reader sees it, and a test reads the same:

- a line `**Terminal 1**` before a block names the terminal; without one there is one terminal only;
- a `text` block after a `sh` block is its output, if no heading is between them; `…` stands for
  anything, line ends included;
- a line `**Terminal 1**: press Ctrl-C.` ends what runs there in the foreground;
- a comment `<!-- not run: REASON -->` before a block says that no test runs it, and why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[2]
ANYTHING = "…"

_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^ *\*\*Terminal (\w+)\*\*(: press Ctrl-C\.)?", re.MULTILINE)
# what differs from run to run
_PATTERNS = {
    "anything": r".*?",
    "uuid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    "clock": r"\d\d:\d\d:\d\d",
    "duration": r"\d+(?:\.\d+)? s\b",
    "number": r"\d+",
}
_VARIES = re.compile(
    rf"(?P<anything>{ANYTHING})|(?P<uuid>{_PATTERNS['uuid']})|(?P<time>{_PATTERNS['time']})"
    rf"|(?P<clock>{_PATTERNS['clock']})|(?P<duration>{_PATTERNS['duration']})|(?P<number>\d{{4,}})"
)
_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block; `terminal` is empty where the page has one terminal only."""

    page: str
    line: int
    language: str
    text: str
    terminal: str = ""
    expected: str | None = None
    not_run: str | None = None


@dataclass(frozen=True)
class Interrupt:
    """Ctrl-C in a terminal."""

    terminal: str


Step: TypeAlias = Block | Interrupt


def blocks(page: str, language: str = "") -> list[Block]:
    """The fenced blocks of a page, given by its path below the project's folder."""
    found = [step for step in steps(page) if isinstance(step, Block)]
    return [block for block in found if language in ("", block.language)]


def steps(page: str) -> list[Step]:
    """What a page has its reader do, in order; a `text` block is part of the block before it."""
    source = (ROOT / page).read_text()
    found: list[Step] = []
    end = 0
    for fence in _FENCE.finditer(source):
        before = source[end : fence.start()]
        end = fence.end()
        indent, language, text = fence.groups()
        text = re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
        terminal = ""
        for label in _LABEL.finditer(before):
            if label[2]:
                found.append(Interrupt(label[1]))
            else:
                terminal = label[1]
        last = found[-1] if found else None
        is_output = language == "text" and not _HEADING.search(before)
        if is_output and isinstance(last, Block) and last.language == "sh":
            found[-1] = replace(last, expected=text)
            continue
        reason = _NOT_RUN.search(before)
        said = " ".join(reason[1].split()) if reason else None
        line = source.count("\n", 0, fence.start()) + 1
        found.append(Block(page, line, language, text, terminal, None, said))
    found += [Interrupt(label[1]) for label in _LABEL.finditer(source, end) if label[2]]
    return found


def matches(expected: str, output: str) -> bool:
    """Whether an output is what a page shows.

    Durations, times of day, ids and numbers of four digits or more (processes, ports) may be
    others; space at line ends does not count.
    """

    def stripped(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip().split("\n"))

    pattern = ""
    text = stripped(expected)
    end = 0
    for part in _VARIES.finditer(text):
        pattern += re.escape(text[end : part.start()]) + _PATTERNS[str(part.lastgroup)]
        end = part.end()
    pattern += re.escape(text[end:])
    # a line `…` stands for no line, too
    pattern = re.sub(r"^\.\*\?\\\n", r"(?:.*\\n)?", pattern)
    pattern = re.sub(r"\\\n\.\*\?$", r"(?:\\n.*)?", pattern)
    return re.fullmatch(pattern, stripped(output), re.DOTALL) is not None
