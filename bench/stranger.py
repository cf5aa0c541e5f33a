"""A caller without a token that holds many idle connections: `python -m bench.stranger`.

Arguments: port, how many connections, how many new ones a second at most, user id (or -1 for one's
own), a last part of the loopback address. Connections that are hung up on are opened anew. Prints a
line with the number that stands open for each line that it reads, and ends with its input.
"""

from __future__ import annotations

import errno
import os
import resource
import selectors
import socket
import sys
import time

TICK_S = 0.01


class Stranger:
    """Keeps `count` connections to a port of 127.0.0.1 open, from `address`."""

    def __init__(self, port: int, count: int, rate: int, address: str) -> None:
        self._target = ("127.0.0.1", port)
        self._count = count
        self._per_tick = max(1, int(rate * TICK_S))
        self._source = (address, 0)
        self._selector = selectors.EpollSelector()
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        self._held = 0

    def run(self) -> None:
        """Until the input ends."""
        while True:
            began = time.monotonic()
            for key, _ in self._selector.select(0):
                if isinstance(key.fileobj, socket.socket):
                    self._look_at(key.fileobj)
                elif sys.stdin.readline():
                    print(self._held, flush=True)
                else:
                    return
            for _ in range(min(self._per_tick, self._count - self._held)):
                self._open()
            time.sleep(max(0.0, TICK_S - (time.monotonic() - began)))

    def _open(self) -> None:
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        connection.bind(self._source)
        if connection.connect_ex(self._target) not in (0, errno.EINPROGRESS):
            connection.close()
            return
        self._selector.register(connection, selectors.EVENT_READ)
        self._held += 1

    def _look_at(self, connection: socket.socket) -> None:
        try:
            if connection.recv(65536):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._selector.unregister(connection)
        connection.close()
        self._held -= 1


def main() -> None:
    """The program."""
    port, count, rate, uid = map(int, sys.argv[1:5])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if uid >= 0:
        os.setgid(uid)
        os.setuid(uid)
    Stranger(port, count, rate, f"127.0.0.{sys.argv[5]}").run()


if __name__ == "__main__":
    main()
