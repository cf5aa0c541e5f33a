"""Bytes to whole lines, with a cap.

Cuts at `\\n` only: claude prints U+0085 raw, which `str.splitlines` would take for a line end.
"""

from __future__ import annotations

MAX_LINE = 64 * 1024 * 1024
"""Bytes of the longest line that is kept; a longer one is skipped and counted."""

HEAD = 32
"""Bytes of a skipped line that are kept, so that it can be told what it was."""


class LineFramer:
    """Cuts a stream into whole lines; never raises, whatever the bytes are."""

    def __init__(self, *, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._held: list[bytes] = []
        self._size = 0
        self._skipping = False
        self.skipped = 0
        self.skipped_head = b""

    @property
    def tail(self) -> bytes:
        """The unfinished last line so far."""
        return b"".join(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their line ends."""
        if b"\n" not in data:
            self._hold(data)
            return []
        lines = data.split(b"\n")
        tail = lines.pop()
        if self._skipping:
            del lines[0]
            self._skipping = False
        elif self._size + len(lines[0]) > self._max_line:
            self._drop(lines.pop(0))
        elif self._size:
            lines[0] = b"".join((*self._held, lines[0]))
            self._held.clear()
            self._size = 0
        if tail:
            self._hold(tail)
        return lines

    def _hold(self, piece: bytes) -> None:
        if self._skipping:
            return
        if self._size + len(piece) > self._max_line:
            self._drop(piece)
            self._skipping = True
        elif piece:
            self._held.append(piece)
            self._size += len(piece)

    def _drop(self, piece: bytes) -> None:
        self.skipped_head = b"".join((*self._held[:HEAD], piece))[:HEAD]
        self._held.clear()
        self._size = 0
        self.skipped += 1
