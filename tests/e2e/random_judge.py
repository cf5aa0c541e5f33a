"""What is wrong with one random run, told from what its model was asked and what was told of it.

Pure: no process, no clock. A message of the model without a tool call ends a turn of claude's. Each
such message of the last turn of the run has to be in its answers, in order. That holds whenever
background work happens to end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from e2e.random_plans import Plan
from e2e.script import Say

TASK = re.compile(r"done-\d+")
TOKEN = re.compile(r"w\d+x\d+w")
SIGNALS = {"mcp__signal__goal_reached": "goal_reached", "mcp__signal__need_help": "need_help"}
STATES = {"failed": "failed", "killed": "killed", "need_help": "need_help"}


@dataclass(frozen=True)
class Served:
    """One message of the main agent's model, in which turn of the run it was asked for.

    `sent_back`: a Stop hook had refused the message before it.
    """

    say: Say
    turn: int = 1
    sent_back: bool = False

    @property
    def tasks(self) -> set[str]:
        """The background tasks that it starts, by the names of the files that they leave."""
        return {task for use in self.say.tools for task in TASK.findall(json.dumps(use.input))}

    @property
    def tokens(self) -> list[str]:
        return TOKEN.findall(" ".join([self.say.text or "", *self.say.further]))


@dataclass(frozen=True)
class Seen:
    """What came of a run.

    `done`: the names of the files that background tasks have left; `before_interrupt`: how many
    messages had been served by then.
    """

    served: Sequence[Served]
    session: Mapping[str, Any]
    notices: Sequence[Mapping[str, Any]]
    left: Mapping[int, str]
    done: frozenset[str] = frozenset()
    whole: str = ""
    before_interrupt: int | None = None


def answers(served: Sequence[Served]) -> list[list[str]]:
    """The tokens of each answer that messages make, where none is cut short."""
    found: list[list[str]] = []
    said: list[str] = []
    for at, each in enumerate(served):
        refused = at + 1 < len(served) and served[at + 1].sent_back
        if each.say.tools or refused:
            said = each.tokens or said
            continue
        # a turn that ends without a word is answered by the last text that it said
        found.append(each.tokens or said)
        said = []
    return [tokens for tokens in found if tokens]


def ending(plan: Plan, served: Sequence[Served]) -> str:
    """The kind of notice that a run has which nobody interrupts."""
    if plan.blocked:
        return "failed"
    if not plan.goal:
        return "finished"
    used = [SIGNALS.get(use.name) for each in served for use in each.say.tools]
    return next(filter(None, used), "turn_cap")


def judge(plan: Plan, seen: Seen) -> list[str]:
    """Everything that is wrong with a run."""
    return [*_ending(plan, seen), *_answers(plan, seen), *_notice(seen), *_processes(plan, seen)]


def _ending(plan: Plan, seen: Seen) -> Iterator[str]:
    kind, session = _kind(seen), seen.session
    allowed = {ending(plan, seen.served)}
    if plan.act == "interrupt-any":
        allowed |= {"killed"}
    elif plan.act.startswith("interrupt"):
        allowed = {"killed"}
    if kind not in allowed:
        yield f"WRONG ENDING: {kind}, allowed is {sorted(allowed)}"
    if session.get("state") != STATES.get(kind, "idle"):
        yield f"WRONG ENDING: state {session.get('state')} of a run that ended as {kind}"
    if plan.blocked and (session.get("cause") != "blocked" or seen.served):
        yield f"WRONG ENDING: cause {session.get('cause')}, {len(seen.served)} calls of the model"
    if kind == "turn_cap" and session.get("turn") != plan.max_turns:
        yield f"WRONG ENDING: the cap in turn {session.get('turn')} of {plan.max_turns}"
    if kind == "killed" and session.get("cause") != "interrupt":
        yield f"WRONG ENDING: killed by {session.get('cause')}"
    if plan.act in ("nothing", "open") and plan.background_wait_s is None:
        started = {task for each in seen.served for task in each.tasks}
        if unfinished := started - seen.done or seen.session.get("ended_background"):
            yield f"WRONG ENDING: the background work {unfinished} was not waited for"
    if kind in SIGNALS.values():
        (turn,) = {s.turn for s in seen.served if {u.name for u in s.say.tools} & {*SIGNALS}}
        if session.get("turn") != turn:
            yield f"WRONG ENDING: signalled in turn {turn}, ended in {session.get('turn')}"


def _answers(plan: Plan, seen: Seen) -> Iterator[str]:
    if plan.blocked:
        return
    last = max((each.turn for each in seen.served), default=1)
    of_turn = [each for each in seen.served if each.turn == last]
    told = TOKEN.findall(str(seen.session.get("result") or ""))
    given = answers(of_turn)
    required = _flat(given)
    if _kind(seen) == "killed":
        yield from _answers_of_killed(plan, seen, told)
    # 2.1.197 asks its model once more when the background work is ended that was waited for
    elif told != required and (plan.background_wait_s is None or told != _flat(_but_last(given))):
        yield f"LOST ANSWER: {required} were given, {told} told"
    if told != TOKEN.findall(seen.whole):
        yield f"LOST ANSWER: the file holds {TOKEN.findall(seen.whole)}, {told} told"


def _answers_of_killed(plan: Plan, seen: Seen, told: list[str]) -> Iterator[str]:
    """What was given when the interrupt came.

    The result of the last of it may have been on the way; then it is the last text that was said,
    or has not been printed. What a run that was held had answered has to be there.
    """
    told = [*told, *TOKEN.findall(str(seen.session.get("last_text") or ""))]
    served = seen.served[: seen.before_interrupt]
    last = max((each.turn for each in seen.served), default=1)
    found = answers([each for each in served if each.turn == last])
    if plan.act == "interrupt-any":
        found = answers([each for each in served[:-1] if each.turn == last])
    # the model is asked already, and claude has not printed what it said
    elif served and not served[-1].say.tools:
        found = _but_last(found)
    required = _flat(found)
    given = [token for each in seen.served for token in each.tokens]
    if not _in_order(required, told):
        yield f"LOST ANSWER: {required} were given before the interrupt, {told} told"
    if not _in_order(told, given):
        yield f"LOST ANSWER: {given} were given, {told} told"


def _but_last(found: list[list[str]]) -> list[list[str]]:
    """Without the last of several: the first is never spared."""
    return found[:-1] if len(found) > 1 else found


def _flat(found: list[list[str]]) -> list[str]:
    return [token for tokens in found for token in tokens]


def _notice(seen: Seen) -> Iterator[str]:
    if len(seen.notices) != 1:
        yield f"NOTICES: {len(seen.notices)}, not one: {[n['kind'] for n in seen.notices]}"
        return
    (notice,) = seen.notices
    told = TOKEN.findall(str(seen.session.get("result") or ""))
    if not _in_order(told, TOKEN.findall(str(notice["text"]))):
        yield f"LOST ANSWER: {told} told, the notice says {notice['text']!r}"
    reason = {"finished": "turn_ended"}.get(str(notice["kind"]), notice["kind"])
    if seen.session.get("stop_reason") != reason:
        yield f"WRONG ENDING: {seen.session.get('stop_reason')}, the notice {notice['kind']}"


def _processes(plan: Plan, seen: Seen) -> Iterator[str]:
    if seen.left:
        yield f"ORPHANS: {dict(seen.left)}"
    # what an interrupt ends is told in its own answer
    if plan.leaves_process and plan.act == "nothing" and not seen.session.get("ended_processes"):
        yield "ORPHANS: a process that a tool left behind was not named"
    if plan.background_wait_s is not None and not seen.session.get("ended_background"):
        yield "ORPHANS: background work that was ended was not named"


def _kind(seen: Seen) -> str:
    reason = str(seen.session.get("stop_reason"))
    return {"turn_ended": "finished"}.get(reason, reason)


def _in_order(few: Sequence[str], many: Sequence[str]) -> bool:
    rest = iter(many)
    return all(token in rest for token in few)
