"""What a transcript tells: prompts, texts, tool calls, results, errors, each with its position.

Measured with 2.1.197 and 2.1.332. Each line is a JSON object; of those of the types `user` and
`assistant` the content blocks are read. 2.1.332 writes large lines of other types (requests, their
shapes), which are left out. A subagent can write the file: no line of it is trusted, each has a
bound, and no link is followed.
"""

from __future__ import annotations

import json
import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from hive_subagent.claude.open_tools import NAME_LIMIT, head_of
from hive_subagent.models.transcript import EntryKind
from hive_subagent.system.private_files import Unusable, open_plainly
from hive_subagent.system.sanitize import on_one_line

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line that is read; a longer one is an entry that says so."""

MOST_READ = 64 * 1024 * 1024
"""Bytes of a transcript that are read, the last ones; turns are not counted in a longer one."""

MOST_VALUES = 200_000
"""Objects and lists of a line that is read: each takes far more memory than its bytes."""

KEPT = 16_000
"""Characters of one entry that are kept."""

_MOST_CALLS = 10_000
_AROUND = 200
_LONGEST_MOMENT = 40
_INTERRUPTED = "[Request interrupted by user"


@dataclass(frozen=True)
class Entry:
    """One thing that was said or done.

    `position` grows through the file and never changes: the line's offset and the block's number.
    `turn` counts the prompts that opened a turn; None where the beginning was not read. `tool` is
    the name of the tool of a call or a result.
    """

    position: int
    at: str | None
    turn: int | None
    kind: EntryKind
    text: str
    tool: str | None = None
    cut: bool = False


@dataclass(frozen=True)
class _Block:
    """What one content block tells; `whole`: what is searched, where `text` is only its head."""

    kind: EntryKind
    text: str
    tool: str | None = None
    whole: str | None = None


@dataclass(frozen=True)
class Page:
    """The last entries before a position, oldest first; `earlier`: more lie before them."""

    entries: list[Entry]
    earlier: bool


def read_page(
    config_dir: Path, transcript: Path, *, last: int, before: int | None, search: str | None
) -> Page:
    """At most `last` entries before the position `before`, those that hold `search` if given.

    `transcript` lies below `config_dir`, as `transcripts.find` says. Raises OSError, Unusable where
    something else than a file lies there.
    """
    # one more, to know whether there are earlier ones
    found: deque[Entry] = deque(maxlen=last + 1)
    needle = search.casefold() if search else ""
    with _opened(config_dir, transcript) as file:
        for entry, whole in _entries(file, before):
            if before is not None and entry.position >= before:
                break
            if (kept := _matching(entry, whole, needle)) is not None:
                found.append(kept)
    entries = list(found)
    return Page(entries[-last:], earlier=len(entries) > last)


def _opened(config_dir: Path, transcript: Path) -> BinaryIO:
    folder, name = transcript.relative_to(config_dir / "projects").parts
    with ExitStack() as held:
        beneath: int | None = None
        # the folder of the projects may be a link of the operator's; below it none is followed
        for part, follow in ((str(config_dir / "projects"), True), (folder, False)):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            beneath = os.open(part, flags | (0 if follow else os.O_NOFOLLOW), dir_fd=beneath)
            held.callback(os.close, beneath)
        descriptor = open_plainly(name, os.O_RDONLY, beneath=beneath)
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise Unusable(None, "it is not a regular file", str(transcript))
    return file


def _entries(file: BinaryIO, before: int | None) -> Iterator[tuple[Entry, str]]:
    """Each entry with the text that is searched."""
    size = os.fstat(file.fileno()).st_size
    end = size if before is None else min(size, before)
    at = max(0, end - MOST_READ)
    reader = _Reader(counted=at == 0)
    file.seek(at)
    if at:
        at += _skip_line(file)
    while at < end:
        line = file.readline(LONGEST_LINE)
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            length = len(line) + _skip_line(file)
            yield Entry(at, None, reader.turn, "unreadable", f"a line of {length} bytes"), ""
            at += length
            continue
        if not line.endswith(b"\n"):
            return  # claude is still writing it, or died in it
        yield from reader.entries(at, line)
        at += len(line)


def _skip_line(file: BinaryIO) -> int:
    skipped = 0
    while part := file.readline(1024 * 1024):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


class _Reader:
    """Reads line by line, and remembers turns and the names of called tools."""

    def __init__(self, *, counted: bool) -> None:
        self._turns = 0
        self._counted = counted
        self._tools: dict[str, str] = {}

    @property
    def turn(self) -> int | None:
        return self._turns if self._counted else None

    def entries(self, position: int, line: bytes) -> Iterator[tuple[Entry, str]]:
        # most of the bytes are of types that tell nothing here
        if not (b'"user"' in line or b'"assistant"' in line or b'"queued_command"' in line):
            return
        try:
            if line.count(b"[") + line.count(b"{") > MOST_VALUES:
                raise ValueError("too many values")
            said = json.loads(line)
        except (ValueError, RecursionError):
            yield (
                Entry(
                    position,
                    None,
                    self.turn,
                    "unreadable",
                    "a line that is no JSON, or of too many values",
                ),
                "",
            )
            return
        if not isinstance(said, dict) or said.get("isSidechain") is True:
            return
        blocks = list(self._told(said))
        if said.get("type") == "user" and any(block.kind == "prompt" for block in blocks):
            self._turns += 1
        at = _moment(said)
        for number, block in enumerate(blocks):
            entry = Entry(position + number, at, self.turn, block.kind, block.text, block.tool)
            yield entry, block.text if block.whole is None else block.whole

    def _told(self, said: Mapping[str, Any]) -> Iterator[_Block]:
        kind = said.get("type")
        if kind == "attachment":
            # a message that came amid a turn
            attachment = said.get("attachment")
            if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
                yield _Block("prompt", _text_of(attachment.get("prompt")))
            return
        message = said.get("message")
        if kind not in ("user", "assistant") or not isinstance(message, dict):
            return
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for block in blocks:
            if isinstance(block, dict):
                yield from (self._heard if kind == "user" else self._said)(said, block)

    def _heard(self, said: Mapping[str, Any], block: Mapping[str, Any]) -> Iterator[_Block]:
        if block.get("type") == "tool_result":
            tool = self._tools.get(str(block.get("tool_use_id"))[:NAME_LIMIT])
            failed = block.get("is_error") is True
            text = _text_of(block.get("content"))
            yield _Block("tool_error" if failed else "tool_result", text, tool)
        elif (text := _text_of([block])) and said.get("isMeta") is not True:
            if text.startswith(_INTERRUPTED):
                yield _Block("interrupted", text)
            else:
                yield _Block(
                    "compacted" if said.get("isCompactSummary") is True else "prompt", text
                )

    def _said(self, said: Mapping[str, Any], block: Mapping[str, Any]) -> Iterator[_Block]:
        if block.get("type") == "tool_use":
            tool = on_one_line(str(block.get("name"))[:NAME_LIMIT])[:NAME_LIMIT]
            if len(self._tools) < _MOST_CALLS:
                self._tools[str(block.get("id"))[:NAME_LIMIT]] = tool
            given = block.get("input")
            yield _Block("tool_call", head_of(given), tool, whole="\n".join(_strings(given)))
        elif text := _text_of([block]):
            yield _Block("error" if said.get("isApiErrorMessage") is True else "text", text)


def _strings(given: object) -> Iterator[str]:
    """All keys and texts in a tool's input."""
    left = [given]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += [part for pair in reversed(value.items()) for part in reversed(pair)]
        elif isinstance(value, list):
            left += reversed(value)
        elif value is not None:
            yield str(value)


def _text_of(content: object) -> str:
    """The text of a message or a result; other blocks by their type."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for block in content:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text":
            parts.append(text if isinstance(text := block.get("text"), str) else "")
        elif isinstance(kind := block.get("type"), str) and "thinking" not in kind:
            parts.append(f"[{on_one_line(kind[:NAME_LIMIT])}]")
    return "\n".join(parts)


def _moment(said: Mapping[str, Any]) -> str | None:
    at = said.get("timestamp")
    return at[:_LONGEST_MOMENT] if isinstance(at, str) and at.isascii() else None


def _matching(entry: Entry, whole: str, needle: str) -> Entry | None:
    """The entry as it is kept: cut, and around what was searched for; None where that is absent."""
    text = entry.text
    if needle:
        at = whole.casefold().find(needle)
        if at < 0 and needle not in (entry.tool or "").casefold():
            return None
        # one character can become two by folding: the place is near, and there is room
        if at > _AROUND or (at >= 0 and needle not in text.casefold()):
            text = f"…{whole[max(0, at - _AROUND) :]}"
    if len(text) > KEPT or text is not entry.text:
        return replace(entry, text=text[:KEPT], cut=True)
    return entry
