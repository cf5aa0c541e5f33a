"""A reader of server-sent events, as the standard has it, over a Unix socket."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATIENCE_S = 30.0


@dataclass(frozen=True)
class ServerEvent:
    """One event; `data` is its JSON."""

    id: str
    event: str
    data: dict[str, Any]


class EventStream:
    """Opens `/api/v1/events`; iterate over it for the events as they come."""

    def __init__(self, path: Path, last_event_id: str | None = None, *, buffer: int = 0) -> None:
        """`buffer`: bytes that the kernel keeps for this reader; 0: as usual."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._socket.settimeout(PATIENCE_S)
        self._socket.connect(str(path))
        header = f"Last-Event-ID: {last_event_id}\r\n" if last_event_id is not None else ""
        self._socket.sendall(
            f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode()
        )
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.headers: dict[str, str] = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        self._deadline = time.monotonic() + PATIENCE_S
        self._frames = self._parsed()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._socket.close()

    def __iter__(self) -> Iterator[ServerEvent]:
        return self._frames

    def next(self) -> ServerEvent:
        """The next event."""
        return next(self._frames)

    def until(self, wanted: Callable[[ServerEvent], bool]) -> list[ServerEvent]:
        """Events up to the first that is wanted, which is among them."""
        found = []
        self._deadline = time.monotonic() + PATIENCE_S
        for event in self._frames:
            found.append(event)
            if wanted(event):
                return found
        raise AssertionError(f"the stream ended: {found}")

    def _lines(self) -> Iterator[bytes]:
        """Lines of the body, which comes in chunks."""
        pending = b""
        while size := int(self._file.readline().strip() or b"0", 16):
            pending += self._file.read(size)
            self._file.readline()
            *lines, pending = pending.split(b"\n")
            yield from lines

    def _parsed(self) -> Iterator[ServerEvent]:
        fields: dict[str, str] = {}
        for line in self._lines():
            # comments come for ever
            assert time.monotonic() < self._deadline, "no such event came"
            if line:
                name, _, value = line.decode().partition(":")
                fields[name] = value.removeprefix(" ")
            elif "data" in fields:
                yield ServerEvent(fields["id"], fields["event"], json.loads(fields["data"]))
                fields = {}
