"""What is asked of one run, what its subagent says of it, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from hive_subagent.claude.answers import Answer
from hive_subagent.claude.conversation import Conversation
from hive_subagent.claude.outcome import Outcome
from hive_subagent.containment.interface import Kind, Usage
from hive_subagent.models.session import BackgroundTask, ProcessInfo


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


@dataclass(frozen=True)
class Finish:
    """How a run ended, before anybody put it into words. Costs are claude's own figures.

    `answers` are those of its last turn in their order, whatever the outcome; of several, those
    that say something. `ended_processes` were alive after claude itself had exited. `warning` is
    claude's own.
    """

    outcome: Outcome
    answers: tuple[Answer, ...]
    ended_background: tuple[BackgroundTask, ...]
    ended_processes: tuple[ProcessInfo, ...]
    warning: str | None
    cost_total: float | None
    cost_is_of_the_session: bool
    usage: Usage

    @classmethod
    def of(
        cls,
        outcome: Outcome,
        heard: Conversation,
        *,
        ended_background: tuple[BackgroundTask, ...],
        ended_processes: tuple[ProcessInfo, ...],
        usage: Usage,
    ) -> Self:
        """The end of a run whose claude said what was `heard`."""
        given = heard.spoken.answers
        return cls(
            outcome=outcome,
            answers=tuple([each for each in given if each.text.strip()] or given[-1:]),
            ended_background=ended_background,
            ended_processes=ended_processes,
            warning=heard.stop_hooks.warning,
            cost_total=heard.cost_total,
            cost_is_of_the_session=heard.cost_is_of_the_session,
            usage=usage,
        )


def was_for_memory(usage: Usage, kind: Kind) -> bool | None:
    """Whether the kernel killed the root for memory; None where nobody can tell."""
    if usage.oom_kills is None:
        return None if kind == "cgroup" else False
    return usage.oom_kills > (usage.oom_survived or 0)
