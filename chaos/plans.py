"""Random scripts for the stub, each with the endings that it can have.

An ending is a kind of notice, for `killed` with the cause and the signal behind it; `ERROR` is a
call that is answered with an error. `Plan.endings` holds what can come of a run that nobody
touches; it is empty for one that never ends by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from chaos.noise import noise, orphan

Step = dict[str, Any]

ERROR = "error"
FINISHED, GOAL, HELP, CAP = "finished", "goal_reached", "need_help", "turn_cap"
FAILED = "failed"
INTERRUPTED, STOPPED = "killed interrupt", "killed daemon_stop"


def killed_by(signal: str) -> str:
    """The ending of a run whose process died of this signal, sent by nobody of ours."""
    return f"killed signal {signal}"


@dataclass(frozen=True)
class Plan:
    """One run: its script and what must be true of it. `says` is its last text, where fixed."""

    kind: str
    turns: tuple[tuple[Step, ...], ...]
    endings: frozenset[str]
    goal: bool = False
    max_turns: int = 1
    turn: int | None = None
    says: str | None = None
    before_init: tuple[Step, ...] = ()
    version: str = "2.1.332"

    @property
    def script(self) -> dict[str, Any]:
        """What the stub reads."""
        script: dict[str, Any] = {"turns": self.turns, "version": self.version}
        return script | ({"before_init": self.before_init} if self.before_init else {})


def draw(random: Random, token: str) -> Plan:
    """A random plan. `token` is in its final text and in the command line of all it leaves."""
    makers, weights = zip(*_KINDS.items(), strict=True)
    plan: Plan = random.choices(makers, weights)[0](random, token)
    steps = [step for turn in plan.turns for step in turn]
    if any("close_stdout" in step for step in steps):
        # claude gone silent while another holds its pipe looks like a quiet claude, and is not
        # to be killed for that
        for step in steps:
            step.pop("hold_stdout", None)
    return plan


def finishing(random: Random, token: str) -> Plan:
    """A turn that is answered, among noise and with things left behind."""
    steps = [*noise(random, token), {"text": f"done {token}"}]
    if random.random() < 0.1:
        steps.insert(0, {"linger": True})  # the result comes, the process never leaves
    before = ({"sleep": random.uniform(0, 0.3)},) if random.random() < 0.1 else ()
    return Plan(
        "finishing",
        (tuple(steps),),
        frozenset({FINISHED}),
        says=f"done {token}",
        before_init=before,
        version=_version(random),
    )


def hanging(random: Random, token: str) -> Plan:
    """A turn that never ends: in the model, in a tool, deaf to everything."""
    sleep = f"sleep 3600.{token}"
    last: list[Step] = random.choice(
        [
            [{"hang": True}],
            [{"ignore_interrupt": True}, {"hang": True}],
            [{"hang_deaf": True}],
            [{"bash": f": ; {sleep}; :"}],
            [{"bash": f"trap '' INT TERM HUP; {sleep} & {sleep}; :"}],
            [{"bash": f"setsid nohup {sleep} >/dev/null 2>&1 & {sleep}; :"}],
            [{"tools": [{"bash": f": ; {sleep}; :"}, {"tool": "Read", "seconds": 3600}]}],
        ]
    )
    turns = ((*noise(random, token), *last),)
    return Plan("hanging", turns, frozenset(), version=_version(random))


def dying(random: Random, token: str) -> Plan:
    """A death in the middle of a turn."""
    steps, endings = _death(random, token)
    turns = ((*noise(random, token), {"text": "so far"}, *steps),)
    return Plan("dying", turns, endings, version=_version(random))


def stillborn(random: Random, token: str) -> Plan:
    """A death before the first event: the call's own error."""
    steps, _ = _death(random, token, tools=False)
    pause: Step = {"sleep": random.uniform(0, 0.1)}
    return Plan("stillborn", ((),), frozenset({ERROR}), before_init=(pause, *steps))


def refused(random: Random, token: str) -> Plan:
    """The API says no, or claude ends the turn without an answer."""
    last: Step = random.choice(
        [
            {"api_error": random.choice([400, 401, 429, 500, 529])},
            {"result": {"is_error": True, "subtype": "error_max_turns"}},
            {"result": {"terminal_reason": "hook_stopped", "result": ""}},
        ]
    )
    turns = ((*noise(random, token), last),)
    return Plan("refused", turns, frozenset({FAILED}), version=_version(random))


def racing(random: Random, token: str) -> Plan:
    """A SIGKILL that comes about when the result does."""
    delay = random.uniform(0, 0.05)
    kill: Step = {"bash": f"claude=$PPID; (sleep {delay:.3f}; kill -9 $claude) >/dev/null 2>&1 &"}
    turns = ((kill, {"linger": True}, {"sleep": random.uniform(0, 0.05)}, {"text": "done"}),)
    return Plan("racing", turns, frozenset({FINISHED, killed_by("SIGKILL")}))


def goal(random: Random, token: str) -> Plan:
    """A goal run that ends in a known turn: reached, asking, capped, dead or refused."""
    max_turns = random.randint(1, 4)
    last = random.randint(1, max_turns)
    turns: list[tuple[Step, ...]] = [
        (*noise(random, token, most=1), {"text": f"turn {n}"}) for n in range(1, last)
    ]
    reached: Step = {"mcp": "signal/goal_reached", "args": {"summary": token}}
    help_: Step = {"mcp": "signal/need_help", "args": {"message": token}}
    say: Step = {"text": f"done {token}"}
    way = random.choice(["reached", "help", "both", "cap", "dead", "reached, then dead", "refused"])
    if way == "cap":
        turns += [({"text": f"turn {n}"},) for n in range(last, max_turns + 1)]
        return Plan("goal: cap", tuple(turns), frozenset({CAP}), True, max_turns, max_turns)
    death, deaths = _death(random, token)
    steps, endings = {
        "reached": ([reached, say], frozenset({GOAL})),
        "help": ([help_, say], frozenset({HELP})),
        "both": ([*random.sample([reached, help_], 2), say], frozenset({HELP})),
        "dead": (death, deaths),
        "reached, then dead": ([reached, *death], deaths),
        "refused": ([{"api_error": 529}], frozenset({FAILED})),
    }[way]
    turns.append(tuple(steps))
    return Plan(f"goal: {way}", tuple(turns), endings, True, max_turns, last)


def _death(random: Random, token: str, *, tools: bool = True) -> tuple[list[Step], frozenset[str]]:
    name = random.choice(["SIGKILL", "SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT", "SIGBUS"])
    ways: list[tuple[list[Step], str]] = [
        ([{"die": name}], killed_by(name)),
        ([{"exit": random.choice([0, 1, 2, 127])}], FAILED),
        ([{"exit": 143}], killed_by("SIGTERM")),
        ([{"truncate": random.choice([10, 65536])}], FAILED),
    ]
    if tools:
        kill = f"kill -9 $PPID; : ; sleep 3600.{token}; :"
        ways += [
            ([{"bash": kill}], killed_by("SIGKILL")),
            ([orphan(random, token), {"die": "SIGKILL"}], killed_by("SIGKILL")),
            ([{"close_stdout": True}], FAILED),
        ]
    steps, ending = random.choice(ways)
    return steps, frozenset({ending})


def _version(random: Random) -> str:
    return "2.1.197" if random.random() < 0.3 else "2.1.332"


_KINDS: dict[Callable[[Random, str], Plan], int] = {
    finishing: 30,
    hanging: 15,
    dying: 20,
    stillborn: 5,
    refused: 6,
    racing: 6,
    goal: 18,
}
