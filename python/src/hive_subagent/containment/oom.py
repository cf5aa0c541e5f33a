"""Who died for memory, and at which limit: an account kept from memory.events."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from hive_subagent.containment.cgroupfs import Cgroup
from hive_subagent.containment.interface import OomScope

# a root that lives on a second after a kill was not its victim; a victim needs milliseconds
SETTLED_S = 1.0


class OomAccount:
    """The kernel's kills in one leaf.

    The counters say how many, not who. Who is told by what lives on: see `survived`.
    """

    def __init__(self, leaf: Cgroup, unit: Cgroup, *, root_lives: Callable[[], bool]) -> None:
        self._leaf = leaf
        self._unit = unit
        self._root_lives = root_lives
        self._at_own_limit = 0
        self._at_units_limit = unit.keyed("memory.events.local").get("oom", 0)
        self._timers: set[asyncio.TimerHandle] = set()
        self.kills: int | None = 0 if leaf.read("memory.events") is not None else None
        self.survived = 0
        self.scope: OomScope | None = None

    def update(self) -> None:
        """Read the counters; to be called when they may have changed, and at the end.

        A leaf without them, or one that lets nobody read them, has lost the account: `kills` is
        None from then on. Raises OSError where descriptors have run out.
        """
        if self.kills is None:
            return
        events = self._leaf.keyed("memory.events")
        if not events:
            if os.path.isdir(self._leaf.path):
                self.kills = None
            return
        fresh = events.get("oom_kill", 0) - self.kills
        if fresh > 0:
            # before anything is counted: where it fails, the next look finds the same kills
            self.scope = self._blame(events.get("oom", 0))
            self.kills += fresh
            self._settle_later(fresh)

    def _blame(self, at_own_limit: int) -> OomScope:
        """`oom` counts at the cgroup whose limit was hit, and above; `.local` only there."""
        at_units_limit = self._unit.keyed("memory.events.local").get("oom", 0)
        own, units = at_own_limit > self._at_own_limit, at_units_limit > self._at_units_limit
        self._at_own_limit, self._at_units_limit = at_own_limit, at_units_limit
        if own:
            return "run"
        return "service" if units else "machine"

    def _settle_later(self, kills: int) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return

        def settle() -> None:
            self._timers.discard(timer)
            try:
                lives = self._root_lives()
            except OSError:  # no descriptor is left: a root that lives on still tells it later
                self._settle_later(kills)
                return
            if lives:
                self.survived += kills

        timer = loop.call_later(SETTLED_S, settle)
        self._timers.add(timer)

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
