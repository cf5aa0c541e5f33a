"""What the parts of the chaos share: the calls so far, their numbers and marks, and a last look."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from chaos import processes
from chaos.daemon import Daemon
from chaos.ledger import Call, Violation
from chaos.plans import Plan, draw

_parts = itertools.count(1)


@dataclass
class Work:
    """The calls made of one daemon. `mark` is its own among all that run on this machine."""

    seed: int
    total: int
    calls: list[Call] = field(default_factory=list)
    bursts: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    mark: str = field(default_factory=lambda: f"{os.getpid()}{next(_parts)}")

    @property
    def full(self) -> bool:
        """Whether all calls have been made."""
        return len(self.calls) >= self.total

    def token(self, number: int) -> str:
        """Digits only: it is the fraction of a `sleep` in whatever the call leaves behind."""
        return f"{self.mark}{number:06d}"

    def new(
        self,
        tool: Literal["start", "continue"],
        name: str,
        random: Random,
        plan: Plan | None = None,
    ) -> Call:
        """The next call, with a random plan unless one is given."""
        number = len(self.calls)
        call = Call(number, tool, name, plan or draw(random, self.token(number)))
        self.calls.append(call)
        return call


def left_alive(daemon: Daemon, work: Work, when: str) -> list[Violation]:
    """What lives of a daemon none of whose runs goes on."""
    left = processes.marked(daemon.identity) | processes.naming(f"3600.{work.mark}")
    return [Violation(f"left alive {when}: {pid} {said}") for pid, said in left.items()]
