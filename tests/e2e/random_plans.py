"""Random runs of the real CLI: what the model says and does, and what is done to the run.

Each text of the model is a token of its own, so that it can be found again in what the daemon told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Literal

from e2e.install import CURRENT
from e2e.script import Say, Step, Use

Act = Literal["nothing", "open", "interrupt-held", "interrupt-tool", "interrupt-any"]
"""What is done to a run: nothing; its gate is opened once it only waits for background work; it is
interrupted then, in its tool at the gate, or at any moment."""

LONG = "perl -e 'sleep 300'"
LATER = 8
"""Answers in store for the turns that background work opens; each is used once at most."""


@dataclass(frozen=True)
class Plan:
    """One run. `script` names what the model does; `agents` are the scripts of its agents."""

    kind: str
    script: str
    act: Act = "nothing"
    goal: bool = False
    max_turns: int = 1
    background_wait_s: float | None = None
    hooks: dict[str, Any] = field(default_factory=dict)
    blocked: bool = False
    leaves_process: bool = False
    gate: Path = Path("/nonexistent")
    steps: tuple[Step, ...] = ()


class Drawing:
    """Makes plans. `keep` keeps a script and returns the text that names it."""

    def __init__(
        self, random: Random, number: int, version: str, keep: Callable[..., str], folder: Path
    ) -> None:
        self._random = random
        self._number = number
        self._version = version
        self._keep = keep
        self._folder = folder
        self._tokens = count(1)
        self._tasks = count(1)

    def plan(self) -> Plan:
        """A random plan."""
        kinds: dict[Callable[[], Plan], int] = {
            self._background: 8,
            self._held: 4,
            self._goal: 5,
            self._foreground: 3,
            self._empty: 3,
            self._short_wait: 3,
            self._blocked_prompt: 2,
            self._blocked_stop: 3,
            self._interrupted_in_tool: 2,
            self._interrupted: 3,
        }
        (kind,) = self._random.choices(list(kinds), list(kinds.values()))
        return kind()

    def _made(self, kind: str, steps: list[Step], **further: Any) -> Plan:
        gate = self._folder / "gate"
        return Plan(kind, self._keep(*steps), gate=gate, steps=tuple(steps), **further)

    def _foreground(self) -> Plan:
        leaves = self._random.random() < 0.4
        steps = [*self._tools(), *([self._leaving()] if leaves else []), self._final()]
        return self._made("foreground", steps, leaves_process=leaves)

    def _background(self) -> Plan:
        steps = [*self._tools(), *self._launches(), *self._tools(), self._final(), *self._later()]
        return self._made("background", steps)

    def _held(self) -> Plan:
        steps = [*self._tools(), self._gated(background=True), *self._launches(most=1)]
        steps += [self._final(), *self._later()]
        return self._made("held", steps, act=self._random.choice(["open", "interrupt-held"]))

    def _goal(self) -> Plan:
        most, steps = self._random.randint(2, 4), list[Step]()
        when = self._random.choice([1, 2, None])
        for turn in range(1, most + 1):
            steps += self._tools()
            if self._random.random() < 0.5:
                steps += self._launches(most=1)
            if turn == when:
                steps.append(self._signal())
            steps.append(self._final())
        steps += self._later()
        return self._made("goal", steps, goal=True, max_turns=most)

    def _empty(self) -> Plan:
        # an empty message is kept in no history, so nothing of the script comes after it
        steps = [*self._tools(), *(self._launches() if self._random.random() < 0.5 else [])]
        return self._made("empty", [*steps, Say(text="")])

    def _short_wait(self) -> Plan:
        goal = self._random.random() < 0.4
        steps = [*self._tools(), self._shell(LONG, background=True), self._final()]
        if goal:
            steps += [self._signal()]
        return self._made(
            "short-wait",
            [*steps, *self._later()],
            background_wait_s=self._random.choice([0, 0.5, 1.0]),
            goal=goal,
            max_turns=3 if goal else 1,
        )

    def _blocked_prompt(self) -> Plan:
        commands = [
            "echo 'no such prompts here' >&2; exit 2",
            'echo \'{"decision":"block","reason":"policy says no"}\'',
            'echo \'{"continue":false,"stopReason":"stopped by policy"}\'',
        ]
        hooks = _hook("UserPromptSubmit", self._random.choice(commands))
        goal = self._random.random() < 0.4
        return self._made(
            "blocked-prompt", [self._final()], hooks=hooks, blocked=True, goal=goal, max_turns=3
        )

    def _blocked_stop(self) -> Plan:
        most = self._random.choice([1, 2, 99])
        counted = self._folder / "stops"
        command = (
            f"echo x >>{counted}; [ $(wc -l <{counted}) -gt {most} ] || "
            "{ echo 'keep going' >&2; exit 2; }"
        )
        steps = [*self._tools(), *(self._final() for _ in range(12))]
        return self._made("blocked-stop", steps, hooks=_hook("Stop", command))

    def _interrupted_in_tool(self) -> Plan:
        steps = [*self._tools(), *self._launches(most=1), self._gated(background=False)]
        return self._made("interrupted-in-tool", [*steps, self._final()], act="interrupt-tool")

    def _interrupted(self) -> Plan:
        other = self._random.choice([self._background, self._goal, self._foreground])()
        return replace(other, kind=f"interrupted-{other.kind}", act="interrupt-any")

    def _token(self) -> str:
        return f"w{self._number}x{next(self._tokens)}w"

    def _final(self) -> Say:
        first, *further = (self._token() for _ in range(self._random.choice([1, 1, 1, 2, 3])))
        say = Say(text=first, further=tuple(further))
        if self._random.random() < 0.3:
            return replace(say, chunks=2, interval_s=self._random.uniform(0, 0.15))
        return say

    def _later(self) -> Iterator[Step]:
        for _ in range(LATER):
            if self._random.random() < 0.15:
                yield from self._tools(most=1)
            yield self._final()

    def _beside(self) -> str | None:
        return self._token() if self._random.random() < 0.4 else None

    def _tools(self, *, most: int = 2) -> list[Step]:
        commands = ["true", "exit 3", "perl -e 'select undef, undef, undef, 0.4'"]
        return [
            self._shell(self._random.choice(commands)) for _ in range(self._random.randint(0, most))
        ]

    def _launches(self, *, most: int = 3) -> list[Step]:
        """Background work: in one message or in several."""
        launched = [self._launch() for _ in range(self._random.randint(1, most))]
        if self._random.random() < 0.5:
            return [Say(text=self._beside(), tools=tuple(launched))]
        return [Say(text=self._beside(), tools=(each,)) for each in launched]

    def _launch(self) -> Use:
        """A background task that leaves a file when it has done its work."""
        kind = self._random.choice(["shell", "shell", "agent", "agent", "monitor"])
        pause = f"perl -e 'select undef, undef, undef, {self._random.uniform(0, 2):.2f}'"
        task = f"done-{next(self._tasks)}"
        done = f"touch {self._folder}/{task}"
        if kind == "agent":
            prompt = self._keep(self._shell(f"{pause}; {done}"), Say(text="looked"))
            about = {"description": task, "subagent_type": "general-purpose", "prompt": prompt}
            how = {"run_in_background": True} if self._random.random() < 0.5 else {}
            return Use("Agent", about | how)
        # Monitor came after the older version
        if kind == "monitor" and self._version == CURRENT:
            events = "; ".join([f"echo event; {pause}"] * self._random.randint(1, 2))
            about = {"description": "watch", "command": f"{events}; {done}"}
            return Use("Monitor", about | {"timeout_ms": 60_000, "persistent": False})
        ways = [f"{pause}; {done}", f"{pause}; {done}; exit 3", done]
        command = self._random.choice([*ways, ways[0]])
        return self._use_shell(command, background=True)

    def _gated(self, *, background: bool) -> Say:
        gate = self._folder / "gate"
        waits = f'select undef, undef, undef, 0.05 until -e "{gate}"'
        return self._shell(f"touch {gate}.begun; perl -e '{waits}'", background=background)

    def _leaving(self) -> Say:
        return self._shell(f"setsid nohup {LONG} >/dev/null 2>&1 & true")

    def _signal(self) -> Say:
        uses = (
            Use("mcp__signal__goal_reached", {"summary": "all of it"}),
            Use("mcp__signal__need_help", {"message": "which one?"}),
        )
        return Say(text=self._beside(), tools=(self._random.choice(uses),))

    def _shell(self, command: str, *, background: bool = False) -> Say:
        return Say(text=self._beside(), tools=(self._use_shell(command, background=background),))

    def _use_shell(self, command: str, *, background: bool) -> Use:
        how = {"run_in_background": True} if background else {}
        return Use("Bash", {"command": command, "description": "scripted", **how})


def _hook(event: str, command: str) -> dict[str, Any]:
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}
