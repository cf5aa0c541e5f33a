"""What a misbehaving client needs: bytes on a socket, and a look at the daemon from outside."""

from __future__ import annotations

import json
import os
import resource
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support import rpc
from support.daemon import Daemon

OWNER_TOKEN = "correct-horse-battery-staple"
OWNER = {"Authorization": f"Bearer {OWNER_TOKEN}"}

BOUND_S = 60.0


def guard(world: Daemon) -> Daemon:
    """Give a world that has yet to start an owner's token."""
    (world.root / "token").write_text(f"{OWNER_TOKEN}\n")
    (world.root / "token").chmod(0o600)
    world.settings["auth_token_file"] = str(world.root / "token")
    world.headers = OWNER
    return world


def connect(daemon: Daemon) -> socket.socket:
    """A connection on which nothing has been said."""
    parts = urlsplit(daemon.url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=BOUND_S)


def head(daemon: Daemon, line: str, **headers: str) -> bytes:
    """The head of the last request of a connection; `headers` may have another Host."""
    given = {"Host": urlsplit(daemon.url).netloc, "Connection": "close", **headers}
    fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items())
    return f"{line} HTTP/1.1\r\n{fields}\r\n".encode("latin-1")


def raw(daemon: Daemon, data: bytes) -> bytes:
    """Say `data` and return all that comes back until the daemon ends it."""
    got = b""
    with connect(daemon) as connection:
        try:
            connection.sendall(data)
            while more := connection.recv(65536):
                got += more
        except (BrokenPipeError, ConnectionResetError):
            pass
    return got


def begin(daemon: Daemon, body: bytes, **headers: str) -> socket.socket:
    """The connection on which the owner has sent a message, and not read the answer."""
    fields = {**OWNER, **rpc.HEADERS, "Content_Length": str(len(body)), **headers}
    connection = connect(daemon)
    connection.sendall(head(daemon, "POST /mcp", **fields) + body)
    return connection


def rest_of(connection: socket.socket) -> bytes:
    """All that comes until the other end closes it."""
    got = b""
    while more := connection.recv(65536):
        got += more
    return got


def statuses(answer: bytes) -> list[int]:
    """The status of each response in `answer`."""
    return [int(part.split(b" ", 1)[0]) for part in answer.split(b"HTTP/1.1 ")[1:]]


def signal_urls(daemon: Daemon) -> list[str]:
    """The address of each running subagent's signals, by the age of its file."""
    files = sorted((daemon.runtime_dir / "mcp").glob("*.json"), key=lambda f: f.stat().st_mtime_ns)
    return [json.loads(file.read_text())["mcpServers"]["signal"]["url"] for file in files]


@dataclass(frozen=True)
class Load:
    """What a daemon holds: bytes of memory of its own, descriptors, threads, bytes of log."""

    memory: int
    descriptors: int
    threads: int
    log: int

    @classmethod
    def of(cls, daemon: Daemon) -> Load:
        assert daemon.process is not None
        folder = Path(f"/proc/{daemon.process.pid}")
        said = dict(
            line.split(":", 1) for line in (folder / "status").read_text().splitlines() if line
        )
        return cls(
            memory=int(said["RssAnon"].split()[0]) * 1024,
            descriptors=len(os.listdir(folder / "fd")),
            threads=int(said["Threads"]),
            log=daemon.log_file.stat().st_size,
        )


@contextmanager
def many_descriptors() -> Iterator[None]:
    """Let this process open as many as it may: a client of hundreds of connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def everything_below(root: Path) -> dict[str, Any]:
    """Each path below `root` with what it is: its kind and mode, a link's target, a file's text."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        content: Any = None
        if stat.S_ISLNK(about.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(about.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(root))] = (oct(about.st_mode), about.st_uid, content)
    return found
