"""Which children of a delegation wait, run, have ended; pure, so that every order can be tried.

Each child is in exactly one of `queued`, `running` and `ended`. Each method returns the children to
begin or to stop; the delegation does that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from hive_subagent.models.notices import ChildEnd
from hive_subagent.models.session import WaitPolicy

_BAD = frozenset({ChildEnd.FAILED, ChildEnd.TIMED_OUT, ChildEnd.KILLED})


class Schedule:
    """The children of one delegation by name, in the order in which they are to begin."""

    def __init__(self, names: Iterable[str], policy: WaitPolicy) -> None:
        self.queued = deque(names)
        self.running: set[str] = set()
        self.ended: dict[str, ChildEnd] = {}
        self.cancelled = False
        self._policy = policy

    @property
    def over(self) -> bool:
        """Whether every child has ended."""
        return not self.queued and not self.running

    def begin(self, free: int) -> list[str]:
        """The children that begin now that so many places are free."""
        begun = [self.queued.popleft() for _ in range(min(max(free, 0), len(self.queued)))]
        self.running.update(begun)
        return begun

    def end(self, name: str, end: ChildEnd) -> list[str]:
        """One child has ended, by whatever cause. Returns the children to stop for that."""
        if name in self.queued:
            self.queued.remove(name)
        elif name in self.running:
            self.running.remove(name)
        else:
            return []
        self.ended[name] = end
        if self._policy == "fail_fast" and end in _BAD:
            return self.cancel()
        return []

    def cancel(self) -> list[str]:
        """No child begins any more. Returns the children to stop; none when called again."""
        if self.cancelled:
            return []
        self.cancelled = True
        while self.queued:
            self.ended[self.queued.popleft()] = ChildEnd.CANCELLED
        return sorted(self.running)
