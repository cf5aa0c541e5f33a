"""How a run ended: one value, and the contract's words for it.

Records, owed notices and delegations are kept on the disk with the words: `state`, `stop_reason`,
`cause` and `signal` stand for the reason, and `turn` is 0 where no session was left.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from hive_subagent.models.notices import ChildEnd, NoticeKind
from hive_subagent.models.session import (
    Cause,
    FailureCause,
    Frozen,
    RunFigures,
    State,
    StopReason,
)


class TurnEnded(Frozen):
    """The turn was answered, and there was no goal."""

    tag: Literal[StopReason.TURN_ENDED] = StopReason.TURN_ENDED


class GoalReached(Frozen):
    """The subagent reported its goal reached."""

    tag: Literal[StopReason.GOAL_REACHED] = StopReason.GOAL_REACHED


class NeedHelp(Frozen):
    """The subagent asked its owner a question."""

    tag: Literal[StopReason.NEED_HELP] = StopReason.NEED_HELP


class TurnCap(Frozen):
    """The last turn of a goal was answered without a report."""

    tag: Literal[StopReason.TURN_CAP] = StopReason.TURN_CAP


class Killed(Frozen):
    """A turn was cut. `cause` is None for a SIGKILL that may have been for lack of memory."""

    tag: Literal[StopReason.KILLED] = StopReason.KILLED
    cause: Cause | None
    signal: str | None = None


class Failed(Frozen):
    """The run ended by itself without an answer."""

    tag: Literal[StopReason.FAILED] = StopReason.FAILED
    cause: FailureCause = FailureCause.OTHER


class Stopped(Frozen):
    """The run's owner stopped it: after a step, or by `cut`, in the middle of a turn."""

    tag: Literal[StopReason.STOPPED] = StopReason.STOPPED
    cut: Killed | None = None


Reason = Annotated[
    TurnEnded | GoalReached | NeedHelp | TurnCap | Stopped | Killed | Failed,
    Field(discriminator="tag"),
]

_STATES: Mapping[StopReason, State] = {
    StopReason.TURN_ENDED: State.IDLE,
    StopReason.GOAL_REACHED: State.IDLE,
    StopReason.NEED_HELP: State.NEED_HELP,
    StopReason.TURN_CAP: State.IDLE,
    StopReason.STOPPED: State.IDLE,
    StopReason.KILLED: State.KILLED,
    StopReason.FAILED: State.FAILED,
}

_KINDS: Mapping[StopReason, NoticeKind] = {
    StopReason.TURN_ENDED: "finished",
    StopReason.GOAL_REACHED: "goal_reached",
    StopReason.NEED_HELP: "need_help",
    StopReason.TURN_CAP: "turn_cap",
    StopReason.STOPPED: "stopped",
    StopReason.KILLED: "killed",
    StopReason.FAILED: "failed",
}


def state_of(reason: Reason) -> State:
    """The `state` of a session whose last run ended for this reason."""
    if isinstance(reason, Stopped) and reason.cut is not None:
        return State.KILLED
    return _STATES[reason.tag]


def cause_of(reason: Reason) -> Cause | FailureCause | None:
    """The `cause` of an ending; None where nothing broke, or nobody knows."""
    match reason:
        case Killed(cause=killed_by):
            return killed_by
        case Failed(cause=failed_by):
            return failed_by
        case Stopped(cut=cut):
            return cut.cause if cut is not None else None
        case TurnEnded() | GoalReached() | NeedHelp() | TurnCap():
            return None
    assert_never(reason)


def signal_of(reason: Reason) -> str | None:
    """The name of the signal that ended claude, where one is known."""
    cut = reason.cut if isinstance(reason, Stopped) else reason
    return cut.signal if isinstance(cut, Killed) else None


def notice_kind(reason: Reason) -> NoticeKind:
    """The `kind` of a run's notice."""
    return _KINDS[reason.tag]


def child_end(reason: Reason) -> ChildEnd:
    """The `end` of a child in the notice of its delegation."""
    match reason:
        case TurnEnded() | GoalReached() | TurnCap():
            return ChildEnd.FINISHED
        case NeedHelp():
            return ChildEnd.NEED_HELP
        case Stopped():
            return ChildEnd.STOPPED
        case Failed():
            return ChildEnd.FAILED
        case Killed(cause=Cause.TIMEOUT):
            return ChildEnd.TIMED_OUT
        case Killed(cause=Cause.CANCELLED):
            return ChildEnd.CANCELLED
        case Killed():
            return ChildEnd.KILLED
    assert_never(reason)


class Ending(RunFigures):
    """How a run ended.

    `cost_total` is claude's own last figure, `cost_usd` this run's share. `left_session` is false
    for a child that left nothing to go on with: it never began, or that could not be kept.
    """

    run_id: str
    reason: Reason
    left_session: bool = True
    cost_total: float | None = None
    result_cut: bool = False
    at: str

    @property
    def state(self) -> State:
        """`state_of` its reason."""
        return state_of(self.reason)

    @property
    def stop_reason(self) -> StopReason:
        """The tag of its reason."""
        return self.reason.tag

    @property
    def cause(self) -> Cause | FailureCause | None:
        """`cause_of` its reason."""
        return cause_of(self.reason)

    @property
    def signal(self) -> str | None:
        """`signal_of` its reason."""
        return signal_of(self.reason)

    def figures(self) -> dict[str, Any]:
        """The fields of `RunFigures`, as the view of its session has them."""
        figures = {name: getattr(self, name) for name in RunFigures.model_fields}
        return figures if self.left_session else figures | {"turn": 0}

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, found: Any) -> Any:
        if not isinstance(found, Mapping) or "reason" in found:
            return found
        fields = dict(found)
        words = {name: fields.pop(name, None) for name in _WORDS}
        return fields | {"reason": _reason(words), "left_session": fields.get("turn") != 0}

    @model_serializer(mode="wrap")
    def _in_words(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        dumped: dict[str, Any] = dump(self)
        del dumped["reason"], dumped["left_session"]
        words = {name: getattr(self, name) for name in _WORDS}
        return dumped | words | ({} if self.left_session else {"turn": 0})


_WORDS = ("state", "stop_reason", "cause", "signal")


def _reason(words: Mapping[str, Any]) -> dict[str, Any]:
    """The reason, as pydantic takes it, from the contract's words. Raises ValueError."""
    tag, state = words["stop_reason"], State(words["state"])
    killed = {"cause": words["cause"], "signal": words["signal"]}
    if tag == StopReason.KILLED:
        return {"tag": tag, **killed}
    if tag == StopReason.FAILED:
        return {"tag": tag, "cause": words["cause"] or FailureCause.OTHER}
    if tag == StopReason.STOPPED and state is State.KILLED:
        return {"tag": tag, "cut": killed}
    return {"tag": tag}


def ending_without_result(
    reason: Killed | Failed,
    *,
    run_id: str | None = None,
    message: str | None = None,
    left_session: bool = True,
    max_turns: int = 1,
    cost_total: float | None = None,
) -> Ending:
    """The ending of a run that nobody saw to its end, or that never began."""
    return Ending(
        run_id=run_id or str(uuid.uuid4()),
        reason=reason,
        message=message,
        left_session=left_session,
        max_turns=max_turns,
        cost_total=cost_total,
        at=now(),
    )


def now() -> str:
    """RFC 3339, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
