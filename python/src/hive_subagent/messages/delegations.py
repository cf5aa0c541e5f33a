"""What an owner reads of a delegation: the answer of `delegate`, and the text of its one notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hive_subagent.messages.endings import ending
from hive_subagent.messages.text import fit, shares
from hive_subagent.models.notices import ChildEnd, NoticeChild
from hive_subagent.models.replies import DelegateReply
from hive_subagent.models.session import Cause, SessionView, State, WaitPolicy
from hive_subagent.system.sanitize import on_lines

WORDS_LIMIT = 24_000
"""Bytes of all children's answers and messages in the text of the notice."""

_BAD = {ChildEnd.FAILED, ChildEnd.TIMED_OUT, ChildEnd.KILLED}

_WORDS = {
    ChildEnd.FINISHED: "finished",
    ChildEnd.STOPPED: "stopped",
    ChildEnd.NEED_HELP: "in need of help",
    ChildEnd.FAILED: "failed",
    ChildEnd.TIMED_OUT: "timed out",
    ChildEnd.KILLED: "killed",
    ChildEnd.CANCELLED: "cancelled",
}


@dataclass(frozen=True)
class Section:
    """The part of a notice about one child; `further` are sentences that follow its ending."""

    child: NoticeChild
    view: SessionView
    further: tuple[str, ...]


def accepted(reply: DelegateReply, notice: str) -> str:
    """The answer of `delegate`; `notice` says where its notice goes."""
    waiting = sum(child.state is State.QUEUED for child in reply.children)
    listed = ", ".join(
        f"`{child.name}` ({child.role}, {child.timeout_s:g} s)" for child in reply.children
    )
    queue = f" {waiting} of them wait for a free place." if waiting else ""
    policy = (
        "It is over when each of them has ended."
        if reply.wait_policy == "all"
        else "It is over when each of them has ended, or when one fails: that cancels the others."
    )
    return (
        f"Delegation `{reply.delegation}` hands out {_count(len(reply.children), 'task')}:"
        f" {listed}. The seconds count from the start of a child's own work.{queue} {policy}"
        f" Call `wait` with the id `{reply.delegation}` to read what they answer; {notice}"
        " `interrupt` with the id cancels them all, and each child answers to its name too."
    )


def over(
    delegation: str, sections: Sequence[Section], *, policy: WaitPolicy, cause: Cause | None
) -> str:
    """The text of the notice. `cause` is that of a stop of the whole, if there was one."""
    parts = [_lead(delegation, [each.child for each in sections], policy, cause)]
    views = _shortened([each.view for each in sections])
    for each, view in zip(sections, views, strict=True):
        parts.append(_paragraph(each.child, view, each.further))
    return on_lines("\n\n".join(parts))


def _lead(
    delegation: str, children: Sequence[NoticeChild], policy: WaitPolicy, cause: Cause | None
) -> str:
    counts = Counter(child.end for child in children)
    ended = ", ".join(f"{counts[end]} {_WORDS[end]}" for end in ChildEnd if counts[end])
    if cause is Cause.DAEMON_STOP:
        how = "was KILLED (the daemon stopped); what had ended before that stands"
    elif cause is not None:
        how = "was cancelled by its owner"
    elif policy == "fail_fast" and counts.keys() & _BAD and counts[ChildEnd.CANCELLED]:
        how = "ended with its first failure, for which the others were cancelled"
    else:
        how = "is over"
    costs = [child.cost_usd for child in children if child.cost_usd is not None]
    cost = f" It cost {_dollars(sum(costs))}." if costs else ""
    return f"Delegation `{delegation}` {how}: {ended}.{cost}"


def _paragraph(child: NoticeChild, view: SessionView, further: Sequence[str]) -> str:
    cost = f", {_dollars(child.cost_usd)}" if child.cost_usd is not None else ""
    lead = f"— `{child.name}` ({child.role}): {_WORDS[child.end]}{cost}"
    return "\n".join([lead, ending(view), *further])


def _shortened(views: Sequence[SessionView]) -> list[SessionView]:
    """The views with their texts cut to what a notice may hold in all; `children` has more."""
    said = [
        (at, name, words)
        for at, view in enumerate(views)
        for name in ("result", "message", "last_text")
        if (words := getattr(view, name))
    ]
    changes: dict[int, dict[str, object]] = {at: {} for at in range(len(views))}
    sizes = [len(words.encode()) for _, _, words in said]
    for (at, name, words), share in zip(said, shares(sizes, WORDS_LIMIT), strict=True):
        if (kept := fit(words, limit=share)) != words:
            changes[at] |= {name: kept} | ({"result_cut": True} if name == "result" else {})
    return [view.model_copy(update=changes[at]) for at, view in enumerate(views)]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _dollars(amount: float) -> str:
    return f"${amount:.4f}"
