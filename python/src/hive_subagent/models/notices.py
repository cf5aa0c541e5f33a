"""Notices of how a run or a delegation ended, and events.

Every model is frozen. Times are seconds, costs US dollars.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from hive_subagent.models.session import Cause, FailureCause, Frozen, State, StopReason

NoticeKind = Literal[
    "finished",
    "goal_reached",
    "need_help",
    "turn_cap",
    "stopped",
    "killed",
    "failed",
    "delegation",
]


class ChildEnd(StrEnum):
    """How a child of a delegation ended, in the notice of that."""

    FINISHED = "finished"
    STOPPED = "stopped"
    NEED_HELP = "need_help"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    KILLED = "killed"
    CANCELLED = "cancelled"


class NoticeChild(Frozen):
    """A child in the notice of its delegation.

    `result` is its final text, cut at 8,000 bytes where `result_cut` says so; `result_file` holds
    the whole. `last_text` is what one without an answer said last. `transcript` is claude's file of
    the session, null for one that never began.
    """

    name: str
    role: str
    session_id: str
    dir: str
    end: ChildEnd
    state: State
    stop_reason: StopReason | None
    cause: Cause | FailureCause | None
    signal: str | None
    message: str | None
    result: str | None
    result_cut: bool
    result_file: str | None = None
    last_text: str | None = None
    transcript: str | None
    cost_usd: float | None


class Notice(Frozen):
    """One todo: how one run or one delegation ended.

    `at` is RFC 3339 in UTC; `id` is the same on every retry. `children` is there for a delegation
    alone, whose `name` is its id and whose `session_id` is empty. `result_file` holds the whole
    last answer of a run.
    """

    id: str
    source: Literal["subagent"] = "subagent"
    name: str
    session_id: str
    kind: NoticeKind
    text: str
    report_file: str | None
    result_file: str | None = None
    at: str
    children: list[NoticeChild] | None = None

    @model_serializer(mode="wrap")
    def _children_of_delegations_only(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        dumped: dict[str, Any] = dump(self)
        if self.children is None:
            dumped.pop("children", None)
        return dumped


class RunEvent(Frozen):
    """A run's own work began or ended. `missed` counts events that this reader did not get before.

    `id` is the run's. From `state` on only `subagent_finished` has values; `role` and `delegation`
    only a child has.
    """

    event: Literal["subagent_started", "subagent_finished"]
    source: Literal["subagent"] = "subagent"
    id: str
    name: str
    session_id: str
    dir: str
    role: str | None = None
    delegation: str | None = None
    at: str
    state: State | None = None
    stop_reason: StopReason | None = None
    cause: Cause | FailureCause | None = None
    signal: str | None = None
    cost_usd: float | None = None
    duration_s: float | None = None
    missed: int = 0
