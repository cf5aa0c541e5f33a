"""One run: a process, its turns, and how it ended."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from hive_subagent.claude.commands import as_known
from hive_subagent.claude.conversation import Message
from hive_subagent.claude.invocation import Invocation
from hive_subagent.claude.outcome import Completed, Exit, Failed, Outcome, decide, final_text
from hive_subagent.claude.process import RunningClaude
from hive_subagent.containment.interface import Enclosure, Usage
from hive_subagent.models import Cause, Containment, ProcessInfo
from hive_subagent.runs import prompts
from hive_subagent.runs.ladder import Ladder
from hive_subagent.runs.required import without_signals
from hive_subagent.runs.steering import Steering

LAST_WORD_S = 2.0
"""Seconds that a process which does not exit has between SIGTERM and the end of its tree."""

DRAIN_S = 2.0
"""Seconds a stray holder of claude's pipes may delay the outcome after its tree was ended."""


@dataclass(frozen=True)
class Order:
    """What was asked of one run."""

    prompt: str
    goal: str | None = None
    max_turns: int = 1
    turn_timeout_s: float | None = None


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
    """How a run ended, before anybody put it into words. Costs are claude's own figures."""

    outcome: Outcome
    cost_total: float | None
    cost_is_of_the_session: bool
    usage: Usage


class Run:
    """Drive it with `begin`, `turns` and `finish`, in this order; `stop` may come at any time."""

    def __init__(
        self,
        run_id: str,
        order: Order,
        enclosure: Enclosure,
        tasks: TaskGroup,
        *,
        exit_grace_s: float,
        interrupt_grace_s: float,
        steering: Steering | None = None,
    ) -> None:
        self.run_id = run_id
        self.order = order
        self.turn = 1
        self.signals = Signals()
        self.claude: RunningClaude | None = None
        self.stopped_by: Cause | None = None
        self.steering = steering
        self.over = anyio.Event()
        self.died: dict[int, ProcessInfo] = {}
        self._enclosure = enclosure
        self._tasks = tasks
        self._exit_grace_s = exit_grace_s
        self._interrupt_grace_s = interrupt_grace_s
        self._verdict: Outcome | None = None
        self._failure: Failed | None = None
        self._ladder: Ladder | None = None

    async def begin(self, invocation: Invocation, *, confirm_s: float) -> bool:
        """Start claude and hand it the first message; whether it lives.

        Returns at the first event, at the end, or after `confirm_s`, whichever is first: a
        process that neither speaks nor dies is taken to live. Raises SpawnFailed.
        """
        claude = await RunningClaude.spawn(
            invocation, launcher=self._enclosure.launcher, steering=self.steering
        )
        self.claude = claude
        self._enclosure.adopt(claude.pid)
        order = self.order
        self._send(prompts.first_prompt(order.prompt, goal=order.goal, max_turns=order.max_turns))
        if self.stopped_by is not None:
            self._climb(self._interrupt_grace_s, force=True)
        with anyio.move_on_after(confirm_s):
            await claude.first_event()
        # one that was stopped before it spoke is on its way out, whatever it says yet
        lives = claude.conversation.begun or not claude.over
        return lives and self.stopped_by is None

    async def turns(self) -> None:
        """Go on until nothing more is to be said to this process."""
        claude = self.claude
        assert claude is not None
        while True:
            await self._answered(claude)
            self._judge()
            if self._verdict is None or self.stopped_by is not None or self._is_last_turn():
                break
            self.turn += 1
            self._verdict = None
            goal = self.order.goal or ""
            self._send(
                prompts.next_prompt(goal=goal, turn=self.turn, max_turns=self.order.max_turns)
            )
        claude.end_input()

    def redirect(self, text: str) -> Message | None:
        """Cut what claude does and give it this instead; None when its work is done already.

        A stop that is on its way is not overtaken.
        """
        self._judge()
        claude = self.claude
        if claude is None or self._verdict is not None or self._is_to_stop():
            return None
        return claude.send(text, cuts=True)

    def stop_later(self, after_s: float) -> None:
        """Interrupt the run unless it is over within `after_s`."""

        async def promise() -> None:
            with anyio.move_on_after(after_s):
                await self.over.wait()
                return
            self.stop(Cause.INTERRUPT, step_s=self._interrupt_grace_s)

        self._tasks.start_soon(promise)

    def _send(self, prompt: str) -> None:
        assert self.claude is not None
        preface = self.steering.preface() if self.steering else ""
        message = self.claude.send(f"{preface}\n\n{prompt}" if preface else prompt)
        if self.steering:
            self.steering.sent(message)

    async def _answered(self, claude: RunningClaude) -> None:
        # asked anew each time: a redirect puts another message in the place of the first
        def answered() -> bool:
            message = claude.conversation.message
            return message is not None and message.result is not None

        with anyio.move_on_after(self.order.turn_timeout_s):
            await claude.until(lambda: claude.conversation.mcp is not None or answered())
            if not self._lacks_signals(claude):
                await claude.until(answered)
            return
        self.stop(Cause.TIMEOUT, step_s=self._interrupt_grace_s)
        await claude.until(answered)

    def _lacks_signals(self, claude: RunningClaude) -> bool:
        """Whether it works on a goal that it has no way to report: it ends then, as failed."""
        if self.stopped_by is None and self.order.goal is not None:
            self._failure = without_signals(claude.conversation.mcp)
        if self._failure is not None and self._ladder is None:
            self._climb(self._interrupt_grace_s, force=False)
        return self._failure is not None

    def stop(self, cause: Cause, *, step_s: float, force: bool = False) -> None:
        """Climb the ladder, or hurry up it. A turn that has its answer already stays finished."""
        self._judge()
        decided = self._verdict is not None and self._is_last_turn()
        if not decided and self.stopped_by is None:
            self.stopped_by = cause
            # an answer that another turn was to follow is not the end of the run
            self._verdict = None
        if self._ladder is not None:
            self._ladder.hurry(step_s=step_s, force=force)
        elif self.claude is not None:
            self._climb(step_s, force=force)

    async def finish(self) -> Finish:
        """See the process out, end what it left behind, and say how it ended.

        Shield it: whatever happens to the caller, nothing of the run may outlive it.
        """
        claude = self.claude
        assert claude is not None
        by_itself = await self._see_out(claude)
        await self._end_tree()
        with anyio.move_on_after(DRAIN_S):
            await claude.exited()
        await claude.drain(DRAIN_S)
        usage = self._enclosure.usage()
        self._judge()
        outcome = (
            self._failure
            or self._verdict
            or self._without_answer(claude, claude.exit if self.stopped_by else by_itself, usage)
        )
        later = claude.conversation.later_result
        if isinstance(outcome, Completed) and later is not None:
            outcome = Completed(final_text(later))
        await claude.close()
        self.over.set()
        return Finish(
            outcome=outcome,
            cost_total=claude.conversation.cost_total,
            cost_is_of_the_session=claude.conversation.cost_is_of_the_session,
            usage=usage,
        )

    async def _see_out(self, claude: RunningClaude) -> Exit | None:
        """Wait for the exit; what it was, unless it was only our doing.

        An exit that we cause because none came says nothing about the turn.
        """
        if claude.broken is None:
            # claude keeps a background task: for 5 s (2.1.197) or until it ends (2.1.332)
            with anyio.move_on_after(self._exit_grace_s):
                await claude.exited()
        by_itself = claude.exit
        if by_itself is None and self._ladder is None:
            claude.signal(signal.SIGTERM)
            with anyio.move_on_after(min(LAST_WORD_S, self._exit_grace_s)):
                await claude.exited()
        if self._ladder is not None:
            await self._ladder.over.wait()
        return by_itself

    def _climb(self, step_s: float, *, force: bool) -> None:
        assert self.claude is not None
        if self.steering is not None:
            self.steering.hush()
        with contextlib.suppress(OSError):  # the end itself says that it cannot look
            self.died |= as_known(self._enclosure.processes())
        self._ladder = Ladder(self.claude, self._end_tree, step_s=step_s, force=force)
        self._tasks.start_soon(self._ladder.climb)

    async def _end_tree(self) -> None:
        ended = await self._enclosure.end()
        self.died |= as_known(ended)

    @property
    def usage(self) -> Usage:
        """What the run has used until now, and whether it moves."""
        return self._enclosure.usage()

    @property
    def remains(self) -> str:
        """What is not known to be dead after the end; empty where all of it is."""
        return self._enclosure.remains

    @property
    def containment(self) -> Containment:
        """How it is kept together."""
        return self._enclosure.kind

    def _judge(self) -> None:
        message = self.claude.conversation.message if self.claude else None
        if self._verdict is None and message is not None and message.result is not None:
            self._verdict = decide(
                message.result,
                None,
                stopped_by=self.stopped_by,
                halted=self.steering is not None and self.steering.halted,
            )

    def _is_last_turn(self) -> bool:
        return (
            not isinstance(self._verdict, Completed)
            or self.order.goal is None
            or self.signals.given
            or self._is_to_stop()
            or self.turn >= self.order.max_turns
        )

    def _is_to_stop(self) -> bool:
        by_owner = self.steering is not None and self.steering.stop_reason is not None
        return by_owner or self.stopped_by is not None or self._failure is not None

    def _without_answer(self, claude: RunningClaude, exit_: Exit | None, usage: Usage) -> Outcome:
        if claude.broken is not None and self.stopped_by is None:
            return Failed(claude.broken)
        return decide(
            None,
            exit_,
            stopped_by=self.stopped_by,
            oom=self._was_for_memory(usage),
            stderr=claude.stderr,
        )

    def _was_for_memory(self, usage: Usage) -> bool | None:
        if usage.oom_kills is None:
            return None if self._enclosure.kind == "cgroup" else False
        return usage.oom_kills > (usage.oom_survived or 0)
