"""What is asked of one run, and what its subagent reports of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hive_subagent.claude.mcp_config import SIGNAL
from hive_subagent.claude.mcp_status import McpServers
from hive_subagent.claude.outcome import Failed
from hive_subagent.messages.text import fit
from hive_subagent.models.session import FailureCause
from hive_subagent.sessions.checks import PATH_LIMIT

REPORTS_LIMIT = 16
"""Report files that one run may name; further ones are left out."""


@dataclass(frozen=True)
class Order:
    """What was asked of one run."""

    prompt: str
    goal: str | None = None
    max_turns: int = 1
    turn_timeout_s: float | None = None
    background_wait_s: float = 1800.0


class Signals:
    """What the subagent itself reports of its run."""

    def __init__(self, directory: Path) -> None:
        """`directory` is that of its session; the report files that it names count from there."""
        self._directory = directory
        self._goal_reached: str | None = None
        self._need_help: str | None = None
        self._report_files: list[str] = []

    @property
    def goal_reached(self) -> str | None:
        """Its summary, which can be empty; None where it did not report its goal reached."""
        return self._goal_reached

    @property
    def need_help(self) -> str | None:
        """Its question, if it asked for help."""
        return self._need_help

    @property
    def report_files(self) -> Sequence[str]:
        """The files that it named, as absolute paths."""
        return tuple(self._report_files)

    @property
    def given(self) -> bool:
        """Whether it reported its goal reached or asked for help."""
        return self._goal_reached is not None or self._need_help is not None

    def report_goal(self, summary: str, *, report_file: str | None = None) -> None:
        """Its goal is reached, by its own report."""
        self._goal_reached = fit(summary)
        self._add_report(report_file)

    def ask_for_help(self, question: str, *, report_file: str | None = None) -> None:
        """It cannot go on without an answer of its owner."""
        self._need_help = fit(question)
        self._add_report(report_file)

    def _add_report(self, named: str | None) -> None:
        if not named:
            return
        file = str(self._directory / named)
        # a subagent can name files without end, and paths that no file can have
        possible = len(file.encode("utf-8", "replace")) < PATH_LIMIT
        known = self._report_files
        if possible and file not in known and len(known) < REPORTS_LIMIT:
            known.append(file)


def without_signals(servers: McpServers | None) -> Failed | None:
    """How a run with a goal fails that has no signals; None where it has, or nobody knows yet.

    It would spend its turns to the last one without a chance to report its goal.
    """
    why = servers.why_missing(SIGNAL) if servers is not None else None
    if why is None:
        return None
    return Failed(
        f"its MCP server `{SIGNAL}` did not connect ({why}): without it, it can neither report its"
        " goal reached nor ask for help",
        FailureCause.MCP,
    )
