"""The options of a call: what it asks of a session beside its work."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from hive_subagent.errors import Refused
from hive_subagent.sessions import checks, paths
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.settings import Settings
from hive_subagent.system.operator_input import parse_size


@dataclass(frozen=True)
class Options:
    """None leaves a value as it is; an empty text takes a goal, a report file or a limit away."""

    model: str | None = None
    goal: str | None = None
    max_turns: int | None = None
    report_file: str | None = None
    memory_max: str | int | None = None
    turn_timeout_s: float | None = None
    background_wait_s: float | None = None

    async def located(self, directory: Path) -> Self:
        """These with the report file as the absolute path that it means in `directory`.

        Raises Refused.
        """
        if not self.report_file:
            return self
        file = await paths.report_file(self.report_file, base=directory)
        return replace(self, report_file=file)

    def granted(self, record: SessionRecord, settings: Settings) -> SessionRecord:
        """The record with these options, which `located` has returned. Raises Refused."""
        changes: dict[str, Any] = {}
        if self.model is not None:
            changes["model"] = checks.check_model(self.model)
        if self.goal is not None:
            changes["goal"] = checks.check_goal(self.goal)
        if self.max_turns is not None:
            changes["max_turns"] = checks.check_max_turns(self.max_turns)
        elif record.max_turns is None:
            changes["max_turns"] = settings.default_max_turns
        if self.max_turns is not None and changes.get("goal", record.goal) is None:
            raise Refused(
                "max_turns is for a session with a goal: give a goal too, or leave it out",
                name="max_turns",
            )
        if self.report_file is not None:
            changes["report_file"] = self.report_file or None
        if self.memory_max is not None:
            changes["memory_max"] = None if self.memory_max == "" else _size(self.memory_max)
        if self.turn_timeout_s is not None:
            changes["turn_timeout_s"] = _seconds(self.turn_timeout_s)
        elif record.turn_timeout_s is None:
            changes["turn_timeout_s"] = settings.turn_timeout_s
        if self.background_wait_s is not None:
            changes["background_wait_s"] = _wait(self.background_wait_s)
        return record.model_copy(update=changes)


def _size(text: str | int) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise Refused(f"memory_max {error}", name="memory_max") from None


def _seconds(seconds: float) -> float:
    if not 0 < seconds < math.inf:
        raise Refused(
            f"turn_timeout_s {seconds} is out of range: give seconds above 0",
            name="turn_timeout_s",
            limit=0,
        )
    return seconds


def _wait(seconds: float) -> float:
    if not 0 <= seconds < math.inf:
        raise Refused(
            f"background_wait_s {seconds} is out of range: give seconds from 0",
            name="background_wait_s",
            limit=0,
        )
    return seconds
