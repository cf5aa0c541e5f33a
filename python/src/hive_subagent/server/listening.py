"""The listening socket: the daemon's own, or the one that a service manager holds for it.

With a socket unit of systemd (`LISTEN_FDS`, sd_listen_fds(3)) the port is never free: while the
daemon restarts nobody else can take it, and calls wait in its queue.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
from contextlib import AbstractContextManager
from dataclasses import dataclass

from hive_subagent.errors import ConfigurationError, PortTaken

log = logging.getLogger(__name__)

FIRST_PASSED = 3
"""The first descriptor that a service manager passes."""

NAME = "http"
"""The name (`FileDescriptorName=`) of the socket to serve where several are passed."""

BACKLOG = 4096
"""Connections that wait to be accepted; the kernel's own most is /proc/sys/net/core/somaxconn."""


@dataclass(frozen=True)
class Listener(AbstractContextManager["Listener"]):
    """A listening TCP socket with the address that it is bound to."""

    socket: socket.socket
    host: str
    port: int

    @property
    def url(self) -> str:
        """Where a client on this machine reaches it."""
        reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"http://{f'[{reachable}]' if ':' in reachable else reachable}:{self.port}"

    def __exit__(self, *exception: object) -> None:
        self.socket.close()


def listen(host: str, port: int) -> Listener:
    """The socket that was passed to this process, else one bound to `host` and `port`.

    Raises ConfigurationError for what cannot be listened on, PortTaken for what another process
    listens on.
    """
    if (passed := _passed()) is None:
        made = _bind(host, port)
        return Listener(made, host, made.getsockname()[1])
    address = passed.getsockname()
    if port not in (0, address[1]):
        log.warning(
            "serving the passed socket, port %d, and not `port` %d: clients that go by the setting"
            " find nobody; make both the same",
            address[1],
            port,
        )
    return Listener(_prepared(passed), address[0], address[1])


def _passed() -> socket.socket | None:
    """The passed socket to serve; None where none was passed to this very process."""
    given = {key: os.environ.pop(f"LISTEN_{key}", "") for key in ("PID", "FDS", "FDNAMES")}
    if given["PID"] != str(os.getpid()) or not given["FDS"].isdecimal():
        return None
    count = int(given["FDS"])
    for number in range(FIRST_PASSED, FIRST_PASSED + count):
        os.set_inheritable(number, False)
    if count == 0:
        return None
    names = given["FDNAMES"].split(":")
    chosen = 0
    if count > 1:
        if names.count(NAME) != 1:
            raise ConfigurationError(
                f"{count} sockets are passed (LISTEN_FDS) and not one of them is named {NAME!r};"
                f" set FileDescriptorName={NAME} in the socket unit of the daemon's port"
            )
        chosen = names.index(NAME)
    try:
        found = socket.socket(fileno=FIRST_PASSED + chosen)
    except OSError as error:
        raise ConfigurationError(
            f"LISTEN_FDS names descriptor {FIRST_PASSED + chosen}: {error.strerror}; pass a socket"
        ) from None
    internet = found.family in (socket.AF_INET, socket.AF_INET6)
    if not (
        internet
        and found.type == socket.SOCK_STREAM
        and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    ):
        found.close()
        raise ConfigurationError(
            "the passed socket (LISTEN_FDS) is not a listening TCP socket; give the socket unit"
            " ListenStream= with an address and a port, and Accept=no"
        )
    return found


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # listening at once: two sockets may bind one port as long as none listens
        return _prepared(socket.create_server((host, port), family=family, backlog=BACKLOG))
    except UnicodeError:
        raise ConfigurationError(
            f"host {host!r} is not a host name; set `host`", name="host"
        ) from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"port {port} of {host} is taken by another process: stop that, or set `port`",
                name="port",
            ) from None
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: {error.strerror}; set `host` and `port`",
            name="host",
        ) from None


def _prepared(listener: socket.socket) -> socket.socket:
    # asyncio sets this only on sockets it made itself; without it each answer but the first
    # of a connection waits 40 ms for a delayed acknowledgement
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
