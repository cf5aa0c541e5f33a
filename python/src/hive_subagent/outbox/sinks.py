"""Where notices go: what a sink is, and those that are a directory or a socket.

A new sink is a class as `PlacedSink` says, and a line in `sink_entries._KINDS`;
docs/contributing/recipes.md has an example.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Protocol

import anyio

from hive_subagent.errors import Refused, SubagentError
from hive_subagent.models.notices import Notice
from hive_subagent.system.blocking import in_thread
from hive_subagent.system.private_files import write_private

ANSWER_TIMEOUT_S = 10.0
LONGEST_ANSWER = 65536


class NotAccepted(SubagentError):
    """A sink did not take a notice; the text is the reason, in one line.

    `reached` says whether the sink was there to refuse: then the fault may lie with this notice,
    and another one may still be taken.
    """

    def __init__(
        self, reason: str, *, reached: bool, path: str | os.PathLike[str] | None = None
    ) -> None:
        super().__init__(reason, path=path)
        self.reached = reached


class Sink(Protocol):
    """A place that takes notices."""

    @property
    def key(self) -> str:
        """What identifies the sink over restarts: its kind and place, `dir:/absolute/path`."""

    async def deliver(self, notice: Notice) -> None:
        """Hand over one notice; returns once it is accepted. Raises NotAccepted."""


class PlacedSink(Sink, Protocol):
    """A sink that an entry of `todo_sinks` names; `events` says whether it is offered events."""

    events: bool

    async def send(self, name: str, line: bytes) -> None:
        """Hand over one line of JSON, which `name` identifies. Raises NotAccepted."""


def encode_notice(notice: Notice) -> bytes:
    """One line of JSON, its end included, in ASCII: lone surrogates become escapes, not errors."""
    return json.dumps(notice.model_dump(mode="python")).encode("ascii") + b"\n"


class DirSink:
    """`dir:PATH`: each notice is written whole to `PATH/<id>.json` by rename."""

    def __init__(self, path: Path, *, events: bool = False) -> None:
        self.path = path
        self.events = events

    @property
    def key(self) -> str:
        return f"dir:{self.path}"

    async def deliver(self, notice: Notice) -> None:
        # once it is accepted nobody else has it, so it must survive a power failure
        await self._in_thread(notice.id, encode_notice(notice), durable=True)

    async def send(self, name: str, line: bytes) -> None:
        """Write one line as `PATH/<name>.json`. Raises NotAccepted."""
        await self._in_thread(name, line, durable=False)

    async def _in_thread(self, name: str, line: bytes, *, durable: bool) -> None:
        # the directory may lie on a disk that hangs: that must not hold up the daemon's stop
        try:
            await in_thread(self._write, name, line, durable, what=f"sink {self.key}")
        except Refused as error:
            raise NotAccepted(str(error), reached=False, path=self.path) from None

    def _write(self, name: str, line: bytes, durable: bool) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(self.path / f"{name}.json", line, durable=durable)
        except OSError as error:
            raise NotAccepted(
                f"{self.path}: {error.strerror or error}", reached=False, path=self.path
            ) from None


class UnixSink:
    """`unix:PATH`: one JSON line to the socket, accepted when a line `{"ok":true}` comes back."""

    def __init__(
        self, path: Path, *, events: bool = False, timeout_s: float = ANSWER_TIMEOUT_S
    ) -> None:
        self.path = path
        self.events = events
        self._timeout_s = timeout_s

    @property
    def key(self) -> str:
        return f"unix:{self.path}"

    async def deliver(self, notice: Notice) -> None:
        await self.send(notice.id, encode_notice(notice))

    async def send(self, name: str, line: bytes) -> None:
        """Hand over one line; returns once it is accepted. Raises NotAccepted."""
        reached = False
        try:
            with anyio.fail_after(self._timeout_s), _connected(self.path) as connection:
                reached = True
                answer = await _ask(connection, line)
        except TimeoutError:
            reason = f"no answer within {self._timeout_s:g} s"
        except asyncio.LimitOverrunError:
            reason = f"no line within {LONGEST_ANSWER} bytes"
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            if _says_ok(answer):
                return
            reason = f"answered {answer[:200]!r}" if answer else "closed without an answer"
        raise NotAccepted(f"{self.path}: {reason}", reached=reached, path=self.path)


def _connected(path: Path) -> socket.socket:
    # a local socket connects at once or not at all; anyio.connect_unix spins while the backlog of
    # a listener that hangs is full (measured with 4.16: one core)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        connection.connect(os.fsencode(path))
    except OSError:
        connection.close()
        raise
    return connection


async def _ask(connection: socket.socket, line: bytes) -> bytes:
    """Send `line` and return the first line that comes back, b"" for none."""
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=LONGEST_ANSWER)
    try:
        writer.write(line)
        await writer.drain()
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as torn:
        return torn.partial
    finally:
        writer.transport.abort()


def _says_ok(answer: bytes) -> bool:
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and said.get("ok") is True
