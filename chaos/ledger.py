"""What the harness did, and the judgement over what came of it. Pure: no process, no clock.

A call answered with an error owes no notice, one answered well owes exactly one. A call whose
daemon died before it answered may owe one or none.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from chaos.plans import ERROR, INTERRUPTED, STOPPED, Plan

Notice = Mapping[str, Any]


@dataclass
class Call:
    """One `start` or `continue`. Times are seconds since the epoch, `dir` below `work_dir`."""

    number: int
    tool: Literal["start", "continue"]
    name: str
    plan: Plan
    dir: str = ""
    burst: int = 0
    sent: float = 0.0
    answered: float | None = None
    answer: Literal["well", "error", "lost"] = "lost"
    error: str = ""
    session_id: str = ""
    pid: int = 0
    interrupted: bool = False
    daemon_died: bool = False
    resumable: bool = True
    view: Mapping[str, Any] | None = None
    left: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Violation:
    """Something that must never be; `call` is the offending run, where there is one."""

    what: str
    call: Call | None = None

    def __str__(self) -> str:
        if self.call is None:
            return self.what
        call = self.call
        return (
            f"{self.what}\n  call {call.number}: {call.tool} `{call.name}` ({call.plan.kind}),"
            f" session {call.session_id}, answered {call.answer} {call.error}\n"
            f"  interrupted {call.interrupted}, daemon died {call.daemon_died},"
            f" view {json.dumps(call.view)}\n  script {json.dumps(call.plan.script)}"
        )


@dataclass
class Findings:
    """One part of the chaos: what was asked, what was told, and what was wrong with it."""

    calls: Sequence[Call]
    notices: Sequence[Notice]
    violations: Sequence[Violation]


def judge(calls: Sequence[Call], notices: Sequence[Notice]) -> list[Violation]:
    """Everything that is wrong."""
    pairs, found = _pair(calls, notices)
    for call in calls:
        notice = pairs.get(call.number)
        found += [Violation(what, call) for what in _wrong(call, notice)]
    return found + list(_bursts(calls)) + list(_at_once(calls, pairs))


def _pair(
    calls: Sequence[Call], notices: Sequence[Notice]
) -> tuple[dict[int, Notice], list[Violation]]:
    """The notice of each call. Runs of one session never overlap, so their order tells."""
    by_session: dict[str, list[Notice]] = defaultdict(list)
    for notice in sorted(notices, key=lambda notice: _at(notice)):
        by_session[str(notice["session_id"])].append(notice)
    owing: dict[str, list[Call]] = defaultdict(list)
    for call in sorted(calls, key=lambda call: call.answered or call.sent):
        if call.answer != "error":
            owing[call.session_id].append(call)
    pairs: dict[int, Notice] = {}
    found: list[Violation] = []
    # a lost start never told its session, but its name did
    lost = owing.pop("", [])
    for session_id, told in by_session.items():
        if len(told) > len(owing.get(session_id, ())):
            name, at = told[0]["name"], _at(told[0])
            mine = [call for call in lost if call.name == name and call.sent <= at]
            owing[session_id] = [*mine[-1:], *owing.get(session_id, ())]
    for session_id, run in filter(itemgetter(1), owing.items()):
        told = by_session.pop(session_id, [])
        # a promise that the crash came before was never made
        spare = max(0, len(run) - max(len(told), sum(call.answer == "well" for call in run)))
        for call in [call for call in run if call.answer == "lost"][:spare]:
            run.remove(call)
        if len(run) != len(told):
            what = f"owed {len(run)} notices, {len(told)} came"
            found.append(Violation(what, run[-1] if run else None))
        pairs |= {call.number: notice for call, notice in zip(run, told, strict=False)}
    for told in by_session.values():
        found += [Violation(f"a notice that nobody is owed: {dict(n)}") for n in told]
    return pairs, found


def _wrong(call: Call, notice: Notice | None) -> Iterator[str]:
    plan = call.plan
    if call.left:
        yield f"left alive after the run: {call.left}"
    if call.answer == "error":
        yield from _wrong_error(call)
        return
    if notice is None:
        return  # told already, or lost
    kind = str(notice["kind"])
    allowed = set(plan.endings)
    if call.interrupted:
        allowed.add(INTERRUPTED)
    if call.daemon_died:
        allowed.add(STOPPED)
    if kind not in {ending.split()[0] for ending in allowed}:
        yield f"ended as {kind}, allowed is {sorted(allowed) or 'nothing: it never ends'}"
    if kind == "finished" and plan.says and not _tells(notice, plan.says):
        yield f"finished without its last text: {notice['text']!r}"
    if call.view is not None:
        yield from _wrong_view(call, call.view, kind, allowed)


def _tells(notice: Notice, words: str) -> bool:
    """Whether a notice holds what was said last, or names the file of an answer that it cuts."""
    if words in str(notice["text"]):
        return True
    if "(This answer is cut after" not in str(notice["text"]):
        return False
    try:
        return words in Path(str(notice["result_file"])).read_text()
    except FileNotFoundError:
        return True  # archived with its session since then


def _wrong_error(call: Call) -> Iterator[str]:
    if "is running already" in call.error:
        if not call.burst:
            yield "refused for its name, which nobody else used"
    elif ERROR not in call.plan.endings and not call.interrupted and call.resumable:
        yield "answered with an error"


def _wrong_view(call: Call, view: Mapping[str, Any], kind: str, allowed: set[str]) -> Iterator[str]:
    reason = {"finished": "turn_ended"}.get(kind, kind)
    if view["stop_reason"] != reason:
        yield f"status says {view['stop_reason']}, the notice {kind}"
    ending = kind
    if kind == "killed":
        ending = " ".join(filter(None, ("killed", view["cause"], _told_signal(view))))
    if ending not in allowed:
        yield f"ended as {ending!r}, allowed is {sorted(allowed) or 'nothing: it never ends'}"
    untouched = not call.interrupted and not call.daemon_died
    if untouched and call.plan.turn and view["turn"] != call.plan.turn:
        yield f"ended in turn {view['turn']}, the script in turn {call.plan.turn}"


def _told_signal(view: Mapping[str, Any]) -> str | None:
    # by which rung of the ladder our own interrupt worked is a race
    return view["signal"] if view["cause"] == "signal" else None


def _bursts(calls: Sequence[Call]) -> Iterator[Violation]:
    bursts: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        if call.burst:
            bursts[call.burst].append(call)
    for burst in bursts.values():
        if all("is running already" in call.error for call in burst):
            yield Violation("every call of a burst was refused for the others", burst[0])


def _at_once(calls: Sequence[Call], pairs: Mapping[int, Notice]) -> Iterator[Violation]:
    by_name: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        if call.answer == "well":
            by_name[call.name].append(call)
    for runs in by_name.values():
        runs.sort(key=lambda call: call.answered or 0.0)
        for before, after in pairwise(runs):
            notice = pairs.get(before.number)
            # notices are told to the millisecond
            if notice and (after.answered or 0.0) < _at(notice) - 0.002:
                yield Violation(f"answered before call {before.number} of its name ended", after)


def _at(notice: Notice) -> float:
    return datetime.fromisoformat(str(notice["at"])).timestamp()
