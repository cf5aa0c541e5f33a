"""What a measurement comes to, and how it is printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """One figure. `goal` is the most it should be, or with `at_least` the least; None: no goal."""

    name: str
    value: float
    goal: float | None = None
    unit: str = ""
    at_least: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """`met` or `missed`; empty without a goal."""
        if self.goal is None:
            return ""
        good = self.value >= self.goal if self.at_least else self.value <= self.goal
        return "met" if good else "missed"

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        goal = "" if self.goal is None else f"{sign} {self.goal:g}{self.unit}"
        value = f"{self.value:.2f}{self.unit}"
        return f"{self.name:<48} {value:>11}  {goal:<10} {self.verdict:<7}{self.note}".rstrip()


def p99(values: Sequence[float]) -> float:
    """The smallest value that 99 of 100 do not exceed."""
    return sorted(values)[max(0, math.ceil(0.99 * len(values)) - 1)]


def spread(what: str, seconds: Sequence[float]) -> str:
    """Median, p99 and n of one case, in words."""
    middle, most = median(seconds) * 1000, p99(seconds) * 1000
    return f"{what} {middle:.1f} / {most:.1f} ms, n {len(seconds)}"
