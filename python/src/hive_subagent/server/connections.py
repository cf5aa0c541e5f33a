"""How many HTTP connections stand open, and which one is ended to make room for another."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import Scope

MOST = 1024
"""Connections at once; each may hold 16 KiB of an unfinished header."""

FEWEST = 16
"""Connections at once even where hardly any descriptor is left."""

RESERVED = 128
"""Descriptors kept for the daemon itself: its files, notices, and work in threads."""

RESERVED_PER_RUN = 16
"""Descriptors kept for each run that may be going on: pipes, pidfd, cgroup, transcript."""


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
    """Note that a request has shown a valid token: its connection is ended last."""
    standing = scope.get("state", {}).get("standing")
    if isinstance(standing, Standing):
        standing.proven = True


class Connection(Protocol):
    """One accepted connection."""

    standing: Standing

    def drop(self) -> None:
        """End it at once, with whatever has not been sent."""


@dataclass
class _Group:
    """The connections of one user or address."""

    count: int = 0
    # insertion order: who has been idle for longest comes first
    idle: dict[Connection, None] = field(default_factory=dict)


class Connections:
    """Bounds the connections of all callers together and of each group of callers.

    A group is whatever the caller of `admit` tells apart: a user, an address. A connection with
    a request under way is never ended here. Of the idle ones those that never showed a token are
    ended first, from the group that has most, beginning with the one that is idle for longest.
    So a caller who holds every connection gives way to the next one.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._groups: dict[Hashable, _Group] = {}
        self._group_of: dict[Connection, Hashable] = {}

    def __len__(self) -> int:
        return len(self._group_of)

    def make_room(self, group: Hashable, share: int) -> bool:
        """See that one more fits, of `share` connections that `group` may have.

        Returns False where that would take ending a request that is under way.
        """
        known = self._groups.get(group)
        if known is not None and known.count >= share:
            return self._end_one_of([known])
        return len(self) < self._most or self.end_one()

    def end_one(self) -> bool:
        """End one idle connection; returns False where every one has a request under way."""
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
