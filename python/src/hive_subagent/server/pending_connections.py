"""Accepted connections on which no whole header of a request has come yet.

They cost a descriptor and a few hundred bytes each, where a connection that uvicorn serves takes
some 15 KiB and ten times as long to set up. Whoever opens many and says little gets no further.
"""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from hive_subagent.server.connections import Connections, Standing

HEADER_BYTES = 16 * 1024
"""The most of a header that is waited for."""

AT_ONCE = 32
"""Connections looked at in one step of the event loop."""

_END = re.compile(rb"\n\r?\n")


@dataclass(eq=False)
class Pending:
    """One of them. `since` is a time of the event loop; `dropped`: it gave way to another."""

    socket: socket.socket
    group: Hashable
    since: float
    drop: Callable[[], None] = field(default=lambda: None)
    dropped: bool = False
    standing: Standing = field(default_factory=Standing)


class PendingConnections:
    """Watches them, and hands over each whose header is whole, or can be none.

    One that is handed over still counts, until another takes its place among `connections`.
    Its `fileno` is readable when there is something to look at; then call `look`.
    """

    def __init__(self, connections: Connections, hand_over: Callable[[Pending], None]) -> None:
        self._connections = connections
        self._hand_over = hand_over
        # edge-triggered: a header that stops half-way is looked at once, not over and over
        self._epoll = select.epoll()
        self._by_number: dict[int, Pending] = {}

    def __len__(self) -> int:
        return len(self._by_number)

    def fileno(self) -> int:
        """The descriptor to watch."""
        return self._epoll.fileno()

    def add(self, accepted: socket.socket, group: Hashable, now: float) -> None:
        """Watch an accepted connection; it counts from now on."""
        pending = Pending(accepted, group, now)
        pending.drop = lambda: self._drop(pending)
        self._by_number[accepted.fileno()] = pending
        self._connections.add(pending, group)
        self._epoll.register(accepted, select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)

    def look(self) -> None:
        """Hand over what is whole and close what is over, `AT_ONCE` of them at most."""
        for number, events in self._epoll.poll(0, AT_ONCE):
            if (pending := self._by_number.get(number)) is not None:
                self._look_at(pending, ended=events != select.EPOLLIN)

    def end_before(self, then: float) -> None:
        """Close those that were accepted before `then`."""
        for pending in list(self._by_number.values()):
            if pending.since >= then:
                return
            self._drop(pending)

    def close(self) -> None:
        """Close all of them."""
        for pending in list(self._by_number.values()):
            self._drop(pending)
        self._epoll.close()

    def _look_at(self, pending: Pending, *, ended: bool) -> None:
        try:
            # left where it is, for the one who serves it
            said = pending.socket.recv(HEADER_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        # what begins with white space is no request: it is refused at once
        if said and (said[0] <= 0x20 or len(said) >= HEADER_BYTES or _END.search(said)):
            self._forget(pending)
            self._hand_over(pending)
        elif ended:
            # the rest of the header never comes
            self._drop(pending)

    def _drop(self, pending: Pending) -> None:
        pending.dropped = True
        self._connections.remove(pending)
        # one that is being handed over is closed by who gets it
        if self._forget(pending):
            pending.socket.close()

    def _forget(self, pending: Pending) -> bool:
        number = pending.socket.fileno()
        if self._by_number.get(number) is not pending:
            return False
        del self._by_number[number]
        self._epoll.unregister(number)
        return True
