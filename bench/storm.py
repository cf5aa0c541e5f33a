"""A stranger without a token: 20,000 connections, and 10,000 bad requests, beside the owner."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from anyio import to_thread
from chaos.daemon import Daemon

from bench.busy import rss_kib
from bench.places import ROOT
from bench.table import Row, p99, spread

TOKEN = "bench"
WATCHDOG_S = 3
"""Short, so that a loop that stands still is seen within one round."""

NEW_A_SECOND = 2000
"""Connections that the stranger opens anew; each takes its own processor time too."""

PROCESSES = 2
BODY = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "status", "arguments": {}},
    }
)
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "Authorization": f"Bearer {TOKEN}",
}
BAD = [
    b"GET /mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil\r\nConnection: close\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    b"POST /signal/x/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"1\r\n{\r\n" * 500,
    b"neither this nor that\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: local",
]


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """The owner's `status` beside the stranger over the same without, and what is left behind."""
    return await to_thread.run_sync(lambda: _measured(root / "storm", quick=quick))


def _measured(root: Path, *, quick: bool) -> list[Row]:
    held, asked, bad = (4_000, 200, 2_000) if quick else (20_000, 1_000, 10_000)
    root.mkdir()
    (root / "token").write_text(TOKEN)
    (root / "token").chmod(0o600)
    with ExitStack() as opened:
        watchdog = opened.enter_context(_Watchdog(root / "notify"))
        environment = {
            "NOTIFY_SOCKET": str(root / "notify"),
            "WATCHDOG_USEC": str(WATCHDOG_S * 1_000_000),
        }
        daemon = Daemon(root, environment=environment, auth_token_file=str(root / "token"))
        opened.callback(daemon.abandon)
        daemon.spawn()
        _wait_until_ready(daemon)
        fresh, kept = _Owner(daemon, keep=False), _Owner(daemon, keep=True)
        fresh.ask(50)
        kept.ask(50)
        idle_fresh, idle_kept = fresh.ask(asked), kept.ask(asked)
        log = daemon.log.stat().st_size
        quiet = watchdog.petted
        with _strangers(daemon, held):
            began = time.monotonic()
            busy_fresh, busy_kept = fresh.ask(asked), kept.ask(asked)
            lasted = time.monotonic() - began
        petted = (watchdog.petted - quiet) * WATCHDOG_S / 3 / lasted
        grown = daemon.log.stat().st_size - log
        _bad(daemon, bad // 10)
        before = _load(daemon)
        _bad(daemon, bad)
        after = _load(daemon)
    return [
        Row(
            f"status p99, {held} connections / idle",
            p99(busy_fresh) / p99(idle_fresh),
            3,
            note=f"{spread('new connection', busy_fresh)}; {spread('idle', idle_fresh)}",
        ),
        Row(
            "  over a connection that is kept",
            p99(busy_kept) / p99(idle_kept),
            3,
            note=f"{spread('kept', busy_kept)}; {spread('idle', idle_kept)}",
        ),
        Row("  log growth", grown / 1024, 1024, " KiB"),
        Row("  watchdog petted / as often as when idle", petted, 0.5, at_least=True),
        Row(f"RSS after {bad} bad requests / before", after[0] / before[0], 1.05),
        Row("  descriptors more", after[1] - before[1], 2),
        Row("  log growth", (after[2] - before[2]) / 1024, 1, " KiB"),
    ]


class _Watchdog:
    """A service manager that counts how often it is told that the daemon lives."""

    def __init__(self, place: Path) -> None:
        self.petted = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(place))
        # the kernel keeps ten messages, so somebody has to read all the while
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self._socket.getsockname())
        self._reader.join()
        self._socket.close()

    def _read(self) -> None:
        while said := self._socket.recv(4096):
            self.petted += said == b"WATCHDOG=1"


class _Owner:
    """Asks for `status`, over one connection or a new one each time."""

    def __init__(self, daemon: Daemon, *, keep: bool) -> None:
        self._place = urlsplit(daemon.url).netloc
        self._keep = keep
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, times: int) -> list[float]:
        """Seconds that each took; one that is kept is opened by the first of them."""
        self._connection = None
        return [self._once() for _ in range(times)]

    def _once(self) -> float:
        began = time.perf_counter()
        connection = self._connection or http.client.HTTPConnection(self._place, timeout=60)
        connection.request("POST", "/mcp", BODY, HEADERS)
        answer = connection.getresponse()
        answer.read()
        took = time.perf_counter() - began
        if answer.status != 200:
            raise RuntimeError(f"status: {answer.status}")
        if self._keep:
            self._connection = connection
        else:
            connection.close()
        return took


@contextmanager
def _strangers(daemon: Daemon, held: int) -> Iterator[None]:
    """Processes that together hold, or try to hold, so many connections."""
    port = str(urlsplit(daemon.url).port)
    with ExitStack() as ended:
        for number in range(PROCESSES):
            share = [str(held // PROCESSES), str(NEW_A_SECOND // PROCESSES)]
            arguments = [port, *share, "-1", str(number + 2)]
            process = subprocess.Popen(
                [sys.executable, "-m", "bench.stranger", *arguments],
                cwd=ROOT,
                stdin=subprocess.PIPE,
            )
            ended.callback(process.communicate)
        # until each of them has been opened once
        time.sleep(held / NEW_A_SECOND + 1)
        yield


def _bad(daemon: Daemon, count: int) -> None:
    address = ("127.0.0.1", urlsplit(daemon.url).port)
    for said in itertools.islice(itertools.cycle(BAD), count):
        with socket.create_connection(address, timeout=60) as connection:
            try:
                connection.sendall(said)
                if said.endswith(b"\r\n\r\n"):
                    connection.recv(4096)
            except ConnectionError:
                pass


def _load(daemon: Daemon) -> tuple[int, int, int]:
    """KiB of memory, descriptors, bytes of log, once the connections are closed."""
    time.sleep(1)
    descriptors = len(os.listdir(f"/proc/{daemon.pid}/fd"))
    return rss_kib(daemon.pid), descriptors, daemon.log.stat().st_size


def _wait_until_ready(daemon: Daemon) -> None:
    deadline = time.monotonic() + 60
    while not daemon.serves():
        if time.monotonic() > deadline:
            raise TimeoutError("the daemon is not ready")
        time.sleep(0.01)
