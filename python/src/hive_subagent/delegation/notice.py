"""The one notice of a delegation: what people and models read of it, and the same as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hive_subagent.claude import transcripts
from hive_subagent.messages.endings import ending
from hive_subagent.messages.text import fit, shares
from hive_subagent.models.notices import ChildEnd, Notice, ToldChild
from hive_subagent.models.replies import DelegateReply
from hive_subagent.models.session import Cause, SessionView, State, WaitPolicy
from hive_subagent.sessions.ending import child_end
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.sessions.view import ended_view
from hive_subagent.system.sanitize import on_lines

WORDS_LIMIT = 24_000
"""Bytes of what all children said, in the text of the notice."""

CHILD_NOTE = """
Another agent gave you this task and waits for its end. You work alone: nobody can be asked, and you
hand nothing on to others. Where something is unclear, decide, and say what you assumed. Your last
message is all that the other agent gets to read, so it must hold the whole answer. The agent is
shown the first 8,000 bytes of it and would have to open a file for more.
"""


@dataclass(frozen=True)
class Told:
    """A child whose run has ended. `further` are words that only its notice says."""

    record: SessionRecord
    further: tuple[str, ...] = ()


def accepted(reply: DelegateReply, told: str) -> str:
    """The answer of `delegate`; `told` says where its notice goes."""
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
        f" Call `wait` with the id `{reply.delegation}` to read what they answer; {told}"
        " `interrupt` with the id cancels them all, and each child answers to its name too."
    )


def notice(
    notice_id: str,
    delegation: str,
    told: Sequence[Told],
    *,
    policy: WaitPolicy,
    cause: Cause | None,
    config_dir: Path,
    at: str,
) -> Notice:
    """The notice; `cause` says that the whole was stopped, and by what."""
    children = [_child(one.record, config_dir) for one in told]
    parts = [_lead(delegation, children, policy, cause)]
    views = [
        ended_view(one.record).model_copy(update={"transcript": child.transcript})
        for child, one in zip(children, told, strict=True)
    ]
    for child, view, one in zip(children, _shortened(views), told, strict=True):
        parts.append(_paragraph(child, view, one.further))
    return Notice(
        id=notice_id,
        name=delegation,
        session_id="",
        kind="delegation",
        text=on_lines("\n\n".join(parts)),
        report_file=None,
        at=at,
        children=children,
    )


def _child(record: SessionRecord, config_dir: Path) -> ToldChild:
    ending = record.ending
    assert ending is not None
    place = (config_dir, record.dir, record.session_id)
    # a later session of its name may have put it away
    found = transcripts.find(*place) or transcripts.find_archived(*place)
    return ToldChild(
        name=record.name,
        role=record.role or "",
        session_id=record.session_id,
        dir=record.dir,
        end=child_end(ending.reason),
        state=ending.state,
        stop_reason=ending.stop_reason,
        cause=ending.cause,
        signal=ending.signal,
        message=ending.message,
        result=ending.result,
        result_cut=ending.result_cut,
        result_file=ending.result_file,
        last_text=ending.last_text,
        transcript=str(found) if found else None,
        cost_usd=ending.cost_usd,
    )


def _lead(
    delegation: str, children: Sequence[ToldChild], policy: WaitPolicy, cause: Cause | None
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


def _paragraph(child: ToldChild, view: SessionView, further: Sequence[str]) -> str:
    cost = f", {_dollars(child.cost_usd)}" if child.cost_usd is not None else ""
    lead = f"— `{child.name}` ({child.role}): {_WORDS[child.end]}{cost}"
    return "\n".join([lead, ending(view), *further])


def _shortened(views: Sequence[SessionView]) -> list[SessionView]:
    """With what they said cut to what a text may hold in all; `children` has more."""
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


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _dollars(amount: float) -> str:
    return f"${amount:.4f}"
