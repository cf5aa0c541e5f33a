"""Who plays: the briefs of the three subagents, for a real model and for the stub.

The stub reads its part from the `[[STUB …]]` line; a real model is told to leave that alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Part:
    """One subagent of the demonstration."""

    name: str
    brief: str
    turns: list[list[dict[str, Any]]]
    goal: str | None = None
    killed: bool = False

    def prompt(self, *, for_stub: bool) -> str:
        """The text of its prompt file."""
        if not for_stub:
            return self.brief + "\n"
        return f"{self.brief}\n\n[[STUB {json.dumps({'turns': self.turns})}]]\n"


def _work(*lines: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for line in lines:
        steps += [{"bash": "perl -e 'select undef, undef, undef, 0.7'"}, {"text": line}]
    return steps


CAST = (
    Part(
        name="finishes",
        brief="Count the files in this directory and answer with the number alone.",
        turns=[_work("I count the files.", "3")],
    ),
    Part(
        name="reaches-its-goal",
        brief=(
            "Write the squares of 1 to 3 into squares.txt, one number in each turn of yours;"
            " end each turn after one number."
        ),
        goal="squares.txt holds 1, 4 and 9",
        turns=[
            _work("1 is written."),
            _work("4 is written."),
            [
                *_work("9 is written."),
                {"mcp": "signal/goal_reached", "args": {"summary": "squares.txt holds 1, 4, 9"}},
                {"text": "All three are there."},
            ],
        ],
    ),
    Part(
        name="gets-killed",
        brief="Run the shell command `perl -e 'sleep 600'` in the foreground and wait for it.",
        turns=[[{"text": "This will take long."}, {"bash": "perl -e 'sleep 600'"}]],
        killed=True,
    ),
)
