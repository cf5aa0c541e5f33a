"""Evidence of life: what a run has computed since it last said something.

A quiet tool that computes is a long build, a quiet tree that sleeps may be stuck. Nothing is ever
ended for either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Protocol

import anyio

LOOK_S = 1.0
"""Seconds between two looks; a silence shorter than that has no figure of its own."""


class Silence:
    """The CPU time of a run at the beginning of its present silence."""

    def __init__(self) -> None:
        self._since = 0.0
        self._cpu_s: float | None = None

    def look(self, last_line_at: float, cpu_s: Callable[[], float | None]) -> None:
        """Note the CPU time once a silence is `LOOK_S` old; asks for it once per silence."""
        if self._since != last_line_at and time.monotonic() - last_line_at >= LOOK_S:
            self._since = last_line_at
            self._cpu_s = cpu_s()

    def used(self, last_line_at: float, cpu_s: float | None) -> float | None:
        """CPU seconds since the silence began, its first second apart; None where unknown."""
        if self._since != last_line_at:
            return 0.0 if cpu_s is not None else None
        if cpu_s is None or self._cpu_s is None:
            return None
        return round(max(0.0, cpu_s - self._cpu_s), 3)


class Watched(Protocol):
    """A run that keeps its own evidence."""

    def look(self) -> None:
        """Take note of how it is doing."""


async def watch(live: Callable[[], Iterable[Watched]]) -> None:
    """Look at every run from time to time, for ever; runs that talk cost a comparison."""
    while True:
        await anyio.sleep(LOOK_S)
        for session in live():
            session.look()
