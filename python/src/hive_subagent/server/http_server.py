"""Uvicorn as the daemon runs it, and the acceptor that bounds its connections.

asyncio's own server accepts without a bound, and where descriptors run out it logs a traceback for
each attempt, thousands a second. uvicorn's `limit_concurrency` counts idle connections too and
then answers 503 to everybody, the owner included.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import math
import os
import resource
import socket
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import uvicorn
from starlette.types import ASGIApp

from hive_subagent.server.connections import (
    Connections,
    Pending,
    PendingConnections,
    most_connections,
)
from hive_subagent.server.timeouts import HEADER_S, TimedProtocol
from hive_subagent.system.logs import Seldom
from hive_subagent.system.sockdiag import SocketDiagnostics

log = logging.getLogger(__name__)

HTTP_GRACE_S = 3
"""Seconds that calls in flight have once every run is over."""

ACCEPTS = 8
"""Connections accepted in one step of the event loop, some 0.3 ms: requests go on in between."""

RETRY_S = 0.2
"""Seconds until the next attempt where the process or the machine is out of descriptors."""

SWEEP_S = 1.0
"""Seconds between two looks for connections whose header is late."""

OPERATOR_MOST = 64
"""Connections at once at the operator socket."""

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"Content-Type: text/plain\r\nContent-Length: 21\r\nConnection: close\r\nRetry-After: 1\r\n\r\n"
    b"too many connections\n"
)


class Acceptor:
    """Serves one listening socket; uvicorn closes it as it would one of asyncio's servers."""

    def __init__(
        self,
        listener: socket.socket,
        make_protocol: Callable[[], TimedProtocol],
        *,
        most: int,
        peers: SocketDiagnostics,
    ) -> None:
        self._listener = listener
        self._make_protocol = make_protocol
        self._most = most
        self._peers = peers
        self._connections = Connections(most)
        self._pending = PendingConnections(self._connections, self._hand_over)
        self._seldom = Seldom(log)
        self._loop = asyncio.get_running_loop()
        self._beginning: set[asyncio.Task[None]] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        # a subagent runs as the daemon's user too, so these two have no smaller limit
        self._ours = frozenset({0, os.geteuid()})

    def start(self) -> None:
        """Begin to accept."""
        self._listener.setblocking(False)
        self._loop.add_reader(self._pending.fileno(), self._pending.look)
        self._accept_again()
        self._sweep()

    def close(self) -> None:
        """Accept no more and close the listening socket; requests that have begun go on."""
        for timer in self._timers.values():
            timer.cancel()
        self._loop.remove_reader(self._listener)
        self._loop.remove_reader(self._pending.fileno())
        self._pending.close()
        self._listener.close()

    async def wait_closed(self) -> None:
        """Until each connection that was accepted is served."""
        if self._beginning:
            await asyncio.wait(self._beginning)

    def _accept_again(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _sweep(self) -> None:
        self._pending.end_before(self._loop.time() - HEADER_S)
        self._timers["sweep"] = self._loop.call_later(SWEEP_S, self._sweep)

    def _accept(self) -> None:
        for _ in range(ACCEPTS):
            try:
                connection, address = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                self._cannot_accept(error)
                return
            try:
                self._admit(connection, address)
            except OSError as error:
                # one caller must not end it for all
                connection.close()
                self._seldom.warning("a connection was not served: %s", error.strerror)

    def _cannot_accept(self, error: OSError) -> None:
        self._seldom.warning("cannot accept a connection: %s", error.strerror)
        if error.errno in _EXHAUSTED and self._connections.end_one():
            # its descriptor is free by the next step
            return
        self._loop.remove_reader(self._listener)
        self._timers["retry"] = self._loop.call_later(RETRY_S, self._accept_again)

    def _admit(self, connection: socket.socket, address: Any) -> None:
        connection.setblocking(False)
        group, share = self._group_of(connection, address)
        if self._connections.make_room(group, share):
            self._pending.add(connection, group, self._loop.time())
            return
        self._seldom.warning("%d connections, all with a request under way: no more", self._most)
        with connection, contextlib.suppress(OSError):
            connection.send(_BUSY)

    def _group_of(self, connection: socket.socket, address: Any) -> tuple[Hashable, int]:
        """The group that shares a limit with this caller, and the most that it may have."""
        if connection.family == socket.AF_UNIX:
            return _uid_at_other_end(connection), self._most
        uid = self._peers.uid_of_peer(connection.getsockname(), address)
        if uid is None:
            return address[0], self._most // 2
        return uid, self._most if uid in self._ours else self._most // 2

    def _hand_over(self, pending: Pending) -> None:
        task = self._loop.create_task(self._serve(pending))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _serve(self, pending: Pending) -> None:
        def protocol() -> TimedProtocol:
            made = self._make_protocol()
            made.replace(pending, self._connections)
            return made

        try:
            await self._loop.connect_accepted_socket(protocol, pending.socket)
        except OSError as error:
            self._connections.remove(pending)
            pending.socket.close()
            self._seldom.warning("a connection was not served: %s", error.strerror)


def _uid_at_other_end(connection: socket.socket) -> int:
    """The user who connected to a Unix socket."""
    size = _CREDENTIALS.size
    _, uid, _ = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    )
    return int(uid)


@dataclass(frozen=True)
class Served:
    """An app and the listening socket that it is served on."""

    app: ASGIApp
    listener: socket.socket


class HttpServer(uvicorn.Server):
    """Serves an app at the port and one at the operator socket, with signals left to the daemon.

    The lifespan is that of the first. Each socket has connections of its own: a storm at the port
    does not keep the operator out.
    """

    def __init__(
        self,
        public: Served,
        operator: Served,
        on_ready: Callable[[], None],
        *,
        max_running: int,
        peers: SocketDiagnostics,
        before_shutdown: Iterable[Callable[[], None]] = (),
    ) -> None:
        super().__init__(_config(public.app, lifespan="on"))
        self._operator_config = _config(operator.app, lifespan="off")
        self._public, self._operator = public.listener, operator.listener
        self._on_ready = on_ready
        self._most = most_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0], max_running)
        self._peers = peers
        self._before_shutdown = before_shutdown

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # with no socket uvicorn makes no server of its own and runs the lifespan alone
        await super().startup(sockets=[])
        if not self.started:
            return
        self._operator_config.load()
        for listener, config, most in (
            (self._public, self.config, self._most),
            (self._operator, self._operator_config, min(OPERATOR_MOST, self._most)),
        ):
            make = partial(self._protocol, config)
            acceptor = Acceptor(listener, make, most=most, peers=self._peers)
            acceptor.start()
            # uvicorn's shutdown closes and awaits whatever stands here
            self.servers.append(acceptor)  # type: ignore[arg-type]
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # what is idle must not use up the time of the calls in flight
        for call in self._before_shutdown:
            call()
        await super().shutdown(sockets)

    def _protocol(self, config: uvicorn.Config) -> TimedProtocol:
        return TimedProtocol(
            config=config, server_state=self.server_state, app_state=self.lifespan.state
        )


def _config(app: ASGIApp, *, lifespan: Literal["on", "off"]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        http=TimedProtocol,
        ws="none",
        loop="asyncio",
        lifespan=lifespan,
        # as long as the client's own 5 s, a call can meet the hanging up half-way
        timeout_keep_alive=math.ceil(HEADER_S),
        timeout_graceful_shutdown=HTTP_GRACE_S,
    )
