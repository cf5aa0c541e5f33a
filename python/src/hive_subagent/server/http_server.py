"""Uvicorn as the daemon runs it: on a socket of its own, behind an acceptor with bounds."""

from __future__ import annotations

import math
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from hive_subagent.server.acceptor import Acceptor
from hive_subagent.server.connections import most_connections
from hive_subagent.server.timeouts import HEADER_S, TimedProtocol
from hive_subagent.system.sockdiag import SocketDiagnostics

HTTP_GRACE_S = 3
"""Seconds that calls in flight have once every run is over."""


class HttpServer(uvicorn.Server):
    """Serves `app` on `listener`, with signals left to the daemon."""

    def __init__(
        self,
        app: object,
        listener: socket.socket,
        on_ready: Callable[[], None],
        *,
        max_running: int,
        peers: SocketDiagnostics,
        before_shutdown: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,  # type: ignore[arg-type]
                log_config=None,
                access_log=False,
                http=TimedProtocol,
                ws="none",
                loop="asyncio",
                lifespan="on",
                # as long as the client's own 5 s, a call can meet the hanging up half-way
                timeout_keep_alive=math.ceil(HEADER_S),
                timeout_graceful_shutdown=HTTP_GRACE_S,
            )
        )
        self._listener = listener
        self._on_ready = on_ready
        self._most = most_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0], max_running)
        self._peers = peers
        self._before_shutdown = before_shutdown

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # with no socket uvicorn makes no server of its own and runs the lifespan alone
        await super().startup(sockets=[])
        if not self.started:
            return
        acceptor = Acceptor(self._listener, self._protocol, most=self._most, peers=self._peers)
        acceptor.start()
        # uvicorn's shutdown closes and awaits whatever stands here
        self.servers.append(acceptor)  # type: ignore[arg-type]
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # what is idle must not use up the time of the calls in flight
        self._before_shutdown()
        await super().shutdown(sockets)

    def _protocol(self) -> TimedProtocol:
        return TimedProtocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
