"""What is asked of one run, and what its subagent reports of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Order:
    """What was asked of one run."""

    prompt: str
    goal: str | None = None
    max_turns: int = 1
    turn_timeout_s: float | None = None
    background_wait_s: float = 1800.0


@dataclass
class Signals:
    """What the subagent itself has said about its run."""

    goal_reached: str | None = None
    need_help: str | None = None
    report_files: list[str] = field(default_factory=list)

    @property
    def given(self) -> bool:
        """Whether either was called."""
        return self.goal_reached is not None or self.need_help is not None
