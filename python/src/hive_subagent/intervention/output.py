"""`output.txt`: what a subagent says and does, a line each, made to be followed with `tail -F`."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hive_subagent.claude.stream import Batch
from hive_subagent.intervention.folder import Folder
from hive_subagent.messages.text import fit
from hive_subagent.system.private_files import make_ours, open_plainly
from hive_subagent.system.sanitize import on_one_line

log = logging.getLogger(__name__)

NAME = "output.txt"

LINE_LIMIT = 2_000
"""Bytes of what one line says."""

FILE_LIMIT = 4 * 1024 * 1024
"""Bytes after which the file begins anew."""


# the line end stands between two lines
_PLAIN = bytes(range(0x20, 0x7F)) + b"\n"


class Output:
    """Appends; what cannot be written is told once in the log and never costs the run."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._failed = False

    def hear(self, batch: Batch) -> None:
        """Tell what the main agent says and does, with one write."""
        texts = batch.texts
        if texts is not None:
            self.tell(*["says: " + text for text in texts])
        else:
            self.tell(*(line for event in batch.events() for line in _lines(event)))

    def tell(self, *lines: str) -> None:
        """Append lines, each with the time of day."""
        if not lines:
            return
        clock = time.strftime("%H:%M:%S ").encode()
        # one replacement in the whole is cheaper than one in each line
        data = clock + _on_lines(lines).replace(b"\n", b"\n" + clock) + b"\n"
        path = self._folder.path / NAME
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        try:
            file = open_plainly(NAME, flags, beneath=self._folder.descriptor)
            try:
                make_ours(file, path)
                if os.fstat(file).st_size + len(data) > FILE_LIMIT:
                    os.ftruncate(file, 0)
                os.write(file, data)
            finally:
                os.close(file)
        except OSError as error:
            if not self._failed:
                self._failed = True
                log.warning("%s is not written any more: %s", path, error.strerror or error)


def _lines(event: Mapping[str, Any]) -> list[str]:
    if event.get("parent_tool_use_id") is not None or event.get("isReplay"):
        return []
    message = event.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    speaks = event.get("type") == "assistant"
    lines = [
        line for part in parts if isinstance(part, dict) and (line := _line(part, speaks=speaks))
    ]
    if event.get("type") == "result":
        lines.append(f"turn ends: {event.get('terminal_reason') or event.get('subtype')}")
    return lines


def _line(part: Mapping[str, Any], *, speaks: bool) -> str | None:
    match part.get("type"):
        case "text" if speaks:
            return f"says: {part.get('text')}"
        case "tool_use":
            given = json.dumps(part.get("input"), ensure_ascii=False)
            return f"tool opens: {part.get('name')} {given}"
        case "tool_result":
            return f"tool closes: {'with an error' if part.get('is_error') else 'done'}"
        case _:
            return None


def _on_lines(lines: Sequence[str]) -> bytes:
    """The lines as they stand in the file: each on one line, within the limit."""
    # cut first: a text can be megabytes long
    cut = [_escaped(line[:LINE_LIMIT]) for line in lines]
    whole = "\n".join(cut)
    if whole.isascii() and max(map(len, cut)) <= LINE_LIMIT:
        data = whole.encode()
        if not data.translate(None, _PLAIN):
            return data
    return "\n".join([fit(on_one_line(line), limit=LINE_LIMIT) for line in cut]).encode()


def _escaped(line: str) -> str:
    # to look for a character is much quicker than to replace none
    if "\\" in line:
        line = line.replace("\\", "\\\\")
    return line.replace("\n", "\\n") if "\n" in line else line
