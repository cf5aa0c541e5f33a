"""The result of a run, and the ending that this is in the terms of the contract."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from hive_subagent.claude import outcome as turns
from hive_subagent.claude.answers import Answer
from hive_subagent.claude.conversation import Conversation
from hive_subagent.claude.outcome import Outcome
from hive_subagent.containment.interface import Kind, Usage
from hive_subagent.messages.endings import after_signals
from hive_subagent.messages.text import LAST_TEXT_LIMIT, fit, joined, shortened
from hive_subagent.models.session import (
    BackgroundTask,
    Cause,
    FailureCause,
    McpServerStatus,
    ProcessInfo,
)
from hive_subagent.sessions.ending import (
    Ending,
    Failed,
    GoalReached,
    Killed,
    NeedHelp,
    Reason,
    Stopped,
    TurnCap,
    TurnEnded,
    now,
)
from hive_subagent.sessions.order import Order, Signals


@dataclass(frozen=True)
class Finish:
    """How a run ended, as it was seen. Costs are claude's own figures.

    `stopped_by` is the cause of an interrupt, `stop` the reason that its owner's `stop` gave; both
    are None where there was none. `answers` are those of its last turn in their order, whatever the
    outcome; of several, those that are not blank. `ended_processes` were alive after claude itself
    had exited. `warning` is claude's own. `resets_at` is in seconds since 1970.
    """

    outcome: Outcome
    turn: int
    stopped_by: Cause | None
    stop: str | None
    answers: tuple[Answer, ...]
    last_text: str
    resets_at: float | None
    mcp_servers: list[McpServerStatus]
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
        turn: int,
        stopped_by: Cause | None,
        stop: str | None,
        ended_background: tuple[BackgroundTask, ...],
        ended_processes: tuple[ProcessInfo, ...],
        usage: Usage,
    ) -> Self:
        """The end of a run whose claude said what was `heard`."""
        given = heard.spoken.answers
        return cls(
            outcome=outcome,
            turn=turn,
            stopped_by=stopped_by,
            stop=stop,
            answers=tuple([each for each in given if each.text.strip()] or given[-1:]),
            last_text=heard.last_text.strip(),
            resets_at=heard.resets_at,
            mcp_servers=not_connected(heard),
            ended_background=ended_background,
            ended_processes=ended_processes,
            warning=heard.stop_hooks.warning,
            cost_total=heard.cost_total,
            cost_is_of_the_session=heard.cost_is_of_the_session,
            usage=usage,
        )


def was_out_of_memory(usage: Usage, kind: Kind) -> bool | None:
    """Whether the kernel killed claude out of memory; None where that cannot be known."""
    if usage.oom_kills is None:
        return None if kind == "cgroup" else False
    return usage.oom_kills > (usage.oom_survived or 0)


def ending_of(
    finish: Finish,
    order: Order,
    signals: Signals,
    *,
    run_id: str,
    containment: Kind,
    before: Ending | None,
    resumed: bool,
    result_file: str | None = None,
) -> Ending:
    """The ending of a run. `before` is that of the run before it, where its session has one."""
    text, cut = joined([answer.text for answer in finish.answers])
    total, cost = _cost(finish, before, resumed=resumed)
    reason, message = reason_of(finish, order, signals)
    return Ending(
        run_id=run_id,
        reason=reason,
        message=fit(message) if message else None,
        resets_at=_resets_at(finish),
        result=text,
        result_cut=cut,
        result_file=result_file,
        last_text=_last_text(finish),
        mcp_servers=finish.mcp_servers,
        answers=len(finish.answers) or None,
        result_beside_tool=bool(finish.answers) and finish.answers[-1].beside_tool,
        ended_background=list(finish.ended_background),
        ended_processes=list(finish.ended_processes),
        warning=finish.warning,
        turn=finish.turn,
        max_turns=order.max_turns,
        turn_timeout_s=order.turn_timeout_s,
        background_wait_s=order.background_wait_s,
        cost_usd=cost,
        cost_total=total,
        **usage_figures(finish.usage),
        containment=containment,
        at=now(),
    )


def reason_of(finish: Finish, order: Order, signals: Signals) -> tuple[Reason, str | None]:
    """Why a run ended, and the message of its ending."""
    reason, message = _without_stop(finish.outcome, order, signals)
    if finish.stop is None:
        return reason, message
    # its owner asked it to stop; it may have ended for another reason all the same
    interrupted = isinstance(reason, Killed) and finish.stopped_by is Cause.INTERRUPT
    between_turns = isinstance(reason, TurnCap) and finish.turn < order.max_turns
    if not (interrupted or between_turns or isinstance(reason, Stopped)):
        return reason, message
    cut = reason if isinstance(reason, Killed) else None
    return Stopped(cut=cut), _with_signals(finish.stop, signals)


def _without_stop(outcome: Outcome, order: Order, signals: Signals) -> tuple[Reason, str | None]:
    match outcome:
        case turns.Killed(cause=cause, signal=signal, message=message):
            return Killed(cause=cause, signal=signal), _with_signals(message, signals)
        case turns.Failed(message=message, cause=failure):
            return Failed(cause=failure), _with_signals(message, signals)
        case turns.Stopped():
            return Stopped(), None
        case turns.Completed():
            pass
    if signals.need_help is not None:
        return NeedHelp(), signals.need_help
    if signals.goal_reached is not None:
        return GoalReached(), signals.goal_reached or None
    return TurnEnded() if order.goal is None else TurnCap(), None


def _with_signals(message: str | None, signals: Signals) -> str | None:
    """What is known of a turn that broke, with the reports of its subagent before that."""
    if not signals.given:
        return message
    return after_signals(message, need_help=signals.need_help, goal_reached=signals.goal_reached)


def _last_text(finish: Finish) -> str | None:
    """The last text of a run that gave no answer, where there is any."""
    if isinstance(finish.outcome, turns.Completed) or not finish.last_text:
        return None
    return shortened(finish.last_text, limit=LAST_TEXT_LIMIT)


def _resets_at(finish: Finish) -> str | None:
    """When the limit ends that a run failed at, where claude has reported that."""
    outcome = finish.outcome
    limited = isinstance(outcome, turns.Failed) and outcome.cause is FailureCause.RATE_LIMIT
    return rfc3339(finish.resets_at) if limited and finish.resets_at is not None else None


def _cost(
    finish: Finish, before: Ending | None, *, resumed: bool
) -> tuple[float | None, float | None]:
    """Claude's figure, and this run's share of it; None where one is not known."""
    earlier = before.cost_total if before is not None else None
    total = finish.cost_total
    if total is None:
        return earlier, None
    if not resumed or not finish.cost_is_of_the_session:
        return total, total
    if earlier is None:
        return total, None
    return total, max(0.0, round(total - earlier, 9))


def not_connected(conversation: Conversation | None) -> list[McpServerStatus]:
    """The MCP servers of a run that did not connect, as far as claude has reported them."""
    mcp = conversation.mcp if conversation is not None else None
    return mcp.not_connected if mcp is not None else []


def usage_figures(usage: Usage) -> dict[str, Any]:
    """What a run has used, as fields of `RunFigures`."""
    return {
        "cpu_s": None if usage.cpu_s is None else round(usage.cpu_s, 3),
        "peak_memory_bytes": usage.peak_memory_bytes,
        "memory_max_bytes": usage.memory_max_bytes,
        "oom_kills": usage.oom_kills,
        "oom_scope": usage.oom_scope,
        "pids_max": usage.pids_max,
        "pids_refused": usage.pids_refused,
        "left_memory_bytes": usage.left_memory_bytes,
    }


def rfc3339(seconds: float) -> str | None:
    """Seconds since 1970 as RFC 3339 in UTC; None for what is no possible time."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None
