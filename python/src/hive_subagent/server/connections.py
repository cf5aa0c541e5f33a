"""The HTTP connections that stand open: how many, and which one is closed to make room for another.

A connection is pending until the whole header of its first request has come. A pending one costs a
descriptor and a few hundred bytes, where one that uvicorn serves takes some 15 KiB and ten times as
long to set up. So a caller that opens many and sends little holds nobody up.
"""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import Scope

MOST = 1024
"""Connections at once; each may hold 16 KiB of an unfinished header."""

FEWEST = 16
"""Connections at once even where hardly any descriptor is left."""

RESERVED = 192
"""Descriptors kept for the daemon itself: its files, notices, threads, and the operator socket."""

RESERVED_PER_RUN = 16
"""Descriptors kept for each run that may be going on: pipes, pidfd, cgroup, transcript."""

HEADER_BYTES = 16 * 1024
"""The most of a header that is waited for."""

_LOOKS = 32  # pending connections looked at in one step of the event loop
_HEADER_END = re.compile(rb"\n\r?\n")


def most_connections(descriptors: int, max_running: int) -> int:
    """How many connections are accepted where the process may open so many descriptors."""
    left = descriptors - RESERVED - RESERVED_PER_RUN * max_running
    return max(FEWEST, min(MOST, left))


@dataclass(eq=False)
class Standing:
    """What is known of the caller of one connection. Handed to the app as `state["standing"]`."""

    proven: bool = False
    """Whether a request on it has shown a valid token."""


def mark_proven(scope: Scope) -> None:
    """Note that a request has shown a valid token: its connection is closed last."""
    standing = scope.get("state", {}).get("standing")
    if isinstance(standing, Standing):
        standing.proven = True


class Connection(Protocol):
    """One accepted connection."""

    standing: Standing

    def drop(self) -> None:
        """Close it at once, with whatever has not been sent."""


@dataclass
class _Group:
    """The connections of one user or address."""

    count: int = 0
    # insertion order: the one that has been idle for longest comes first
    idle: dict[Connection, None] = field(default_factory=dict)


class Connections:
    """Bounds the connections of all callers together and of each group of callers.

    A group is what the caller of `add` distinguishes: a user, an address. A connection with a
    request under way is never closed here. Of the idle ones those that never showed a token are
    closed first, from the group that has most, beginning with the one that is idle for longest.
    So a caller that holds every connection gives way to the next one.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._groups: dict[Hashable, _Group] = {}
        self._group_of: dict[Connection, Hashable] = {}

    def __len__(self) -> int:
        return len(self._group_of)

    def make_room(self, group: Hashable, share: int) -> bool:
        """Make one more fit, of `share` connections that `group` may have.

        Returns False where a request that is under way would have to be ended for that.
        """
        known = self._groups.get(group)
        if known is not None and known.count >= share:
            return self._end_one_of([known])
        return len(self) < self._most or self.end_one()

    def end_one(self) -> bool:
        """Close one idle connection; returns False where every one has a request under way."""
        return self._end_one_of(
            sorted(self._groups.values(), key=lambda each: each.count, reverse=True)
        )

    def add(self, connection: Connection, group: Hashable) -> None:
        """Count an accepted connection; it is idle."""
        self._group_of[connection] = group
        known = self._groups.setdefault(group, _Group())
        known.count += 1
        known.idle[connection] = None

    def busy(self, connection: Connection) -> None:
        """A request on it is under way."""
        if (known := self._group(connection)) is not None:
            known.idle.pop(connection, None)

    def idle(self, connection: Connection) -> None:
        """Its request is answered."""
        if (known := self._group(connection)) is not None:
            known.idle.pop(connection, None)
            known.idle[connection] = None

    def remove(self, connection: Connection) -> None:
        """It is closed. Nothing happens where it was not counted, or not any more."""
        known = self._group(connection)
        if known is None:
            return
        group = self._group_of.pop(connection)
        known.idle.pop(connection, None)
        known.count -= 1
        if not known.count:
            del self._groups[group]

    def _group(self, connection: Connection) -> _Group | None:
        if connection not in self._group_of:
            return None
        return self._groups[self._group_of[connection]]

    def _end_one_of(self, groups: list[_Group]) -> bool:
        for proven in (False, True):
            for group in groups:
                for connection in group.idle:
                    if connection.standing.proven is proven:
                        # counted as gone at once, although its descriptor is closed a step later
                        self.remove(connection)
                        connection.drop()
                        return True
        return False


@dataclass(eq=False)
class Pending:
    """A pending connection. `since` is a time of the event loop; `dropped`: it was closed."""

    socket: socket.socket
    group: Hashable
    since: float
    give_up: Callable[[Pending], None]
    dropped: bool = False
    standing: Standing = field(default_factory=Standing)

    def drop(self) -> None:
        self.give_up(self)


class PendingConnections:
    """Watches pending connections, and hands over each whose header is whole, or cannot be one.

    One that is handed over still counts, until another takes its place among `connections`.
    Its `fileno` is readable when there is something to look at; then call `look`.
    """

    def __init__(self, connections: Connections, hand_over: Callable[[Pending], None]) -> None:
        self._connections = connections
        self._hand_over = hand_over
        # edge-triggered: a header that stops half-way is looked at once, not over and over
        self._epoll = select.epoll()
        self._by_number: dict[int, Pending] = {}

    def fileno(self) -> int:
        """The descriptor to watch."""
        return self._epoll.fileno()

    def add(self, accepted: socket.socket, group: Hashable, now: float) -> None:
        """Watch an accepted connection; it counts from now on."""
        pending = Pending(accepted, group, now, self._drop)
        self._by_number[accepted.fileno()] = pending
        self._connections.add(pending, group)
        self._epoll.register(accepted, select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)

    def look(self) -> None:
        """Hand over those that are whole and close those that have ended, a few at a time."""
        for number, events in self._epoll.poll(0, _LOOKS):
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
            # left unread, for the protocol that serves it
            said = pending.socket.recv(HEADER_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        # what begins with white space is no request: it is refused at once
        if said and (said[0] <= 0x20 or len(said) >= HEADER_BYTES or _HEADER_END.search(said)):
            self._forget(pending)
            self._hand_over(pending)
        elif ended:
            # the rest of the header never comes
            self._drop(pending)

    def _drop(self, pending: Pending) -> None:
        pending.dropped = True
        self._connections.remove(pending)
        # one that is being handed over is closed by its receiver
        if self._forget(pending):
            pending.socket.close()

    def _forget(self, pending: Pending) -> bool:
        number = pending.socket.fileno()
        if self._by_number.get(number) is not pending:
            return False
        del self._by_number[number]
        self._epoll.unregister(number)
        return True
