"""How a turn or the process can end other than by running out of steps."""

from __future__ import annotations


class Exit(Exception):
    """Leave the process with this exit code, printing nothing more."""

    def __init__(self, rc: int, *, drop_output: bool = False) -> None:
        super().__init__(rc)
        self.rc = rc
        self.drop_output = drop_output


class Aborted(Exception):
    """The running turn is cut: by `interrupt`, by a message of priority `now`, or by `sigint`."""

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by
        self.in_tool = False
        self.after_tools = False  # within a step all the same, with no tool to reject


class EndTurn(Exception):
    """The script ends the turn here, with the ending that `turn.ending` holds."""
