"""Faults that are planted on purpose, each of which has to make its scenario fail.

`vm-tests/faults/SCENARIO.toml` holds a list of `fault`, each with

- `part`: the beginning of the name of the subtest that has to fail, blank for what is in none,
- `plant`: shell commands for the machine, run before the scenario; the functions of
  `vm-tests/faults/functions.sh` are there.

A scenario that passes in spite of a fault, or that fails elsewhere, checks less than it seems to.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FUNCTIONS = "functions.sh"
PATIENCE_S = 60.0
"""The most that a scenario waits for one thing, which a fault may keep from coming."""


@dataclass(frozen=True)
class Fault:
    """One fault of a scenario; `number` counts from 1."""

    number: int
    part: str
    plant: str

    def script(self, scenario: Path) -> str:
        """The commands that plant it."""
        functions = (_folder(scenario) / FUNCTIONS).read_text()
        return f"{functions}\n{self.plant}"

    def verdict(self, part: str | None, problem: BaseException | None) -> str | None:
        """What is wrong with how the scenario went; None where it failed as it had to.

        `part` is the subtest that failed, None for what is in none.
        """
        if problem is None:
            return "passed in spite of the fault"
        if not (part or "").startswith(self.part) or (part is not None and not self.part):
            return f"failed in {part!r}, not in {self.part!r}"
        return None


def faults_of(scenario: Path) -> list[Fault]:
    """The faults that are kept for a scenario; none where there is no file."""
    file = _folder(scenario) / f"{scenario.stem}.toml"
    if not file.exists():
        return []
    given = tomllib.loads(file.read_text())["fault"]
    return [Fault(n, each["part"], each["plant"]) for n, each in enumerate(given, start=1)]


def _folder(scenario: Path) -> Path:
    return scenario.parents[1] / "faults"
