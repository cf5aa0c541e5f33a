"""One run: a process, its turns, and how it ended."""

from __future__ import annotations

import contextlib

import anyio
from anyio.abc import TaskGroup

from hive_subagent.claude.commands import as_known
from hive_subagent.claude.hooks import Prompt
from hive_subagent.claude.invocation import Invocation
from hive_subagent.claude.outcome import Completed, Exit, Failed, Outcome, Stopped, decide
from hive_subagent.claude.process import RunningClaude
from hive_subagent.containment.interface import Enclosure, Usage
from hive_subagent.messages import prompts
from hive_subagent.models.session import BackgroundTask, Cause, Containment, ProcessInfo
from hive_subagent.sessions.background import BackgroundWait
from hive_subagent.sessions.finish import Finish, was_out_of_memory
from hive_subagent.sessions.leaving import left_behind, see_out
from hive_subagent.sessions.order import Order, Signals, without_signals
from hive_subagent.sessions.steering import Steering
from hive_subagent.sessions.stopping import Ladder

DRAIN_S = 2.0
"""Seconds a stray holder of claude's pipes may delay the outcome after its tree was ended."""


class Run:
    """Drive it with `begin`, `turns` and `finish`, in this order; `stop` may come at any time."""

    def __init__(
        self,
        run_id: str,
        order: Order,
        enclosure: Enclosure,
        tasks: TaskGroup,
        *,
        signals: Signals,
        exit_grace_s: float,
        interrupt_grace_s: float,
        steering: Steering | None = None,
    ) -> None:
        self.run_id = run_id
        self.order = order
        self.turn = 1
        self.signals = signals
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
        self._wait: BackgroundWait | None = None
        self._ended_background: tuple[BackgroundTask, ...] = ()

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
            claude.conversation.spoken.begin_turn()
            goal, max_turns = self.order.goal or "", self.order.max_turns
            self._send(prompts.next_prompt(goal=goal, turn=self.turn, max_turns=max_turns))
        self._note_background()
        claude.end_input()

    @property
    def idles(self) -> bool:
        """Whether claude does nothing itself and only waits for its background tasks."""
        return self._wait is not None and self._wait.idles

    def can_redirect(self) -> bool:
        """Whether its work is not done yet. A stop that is on its way is not overtaken."""
        self._judge()
        return self.claude is not None and self._verdict is None and not self._is_to_stop()

    def redirect(self, prompt: Prompt) -> None:
        """Cut what claude does and give it this instead; background tasks go on."""
        assert self.claude is not None
        self.claude.send(prompt, cuts=not self.idles)

    def stop_later(self, after_s: float) -> None:
        """Its owner stops it: interrupt the run unless it is over within `after_s`."""
        if self.claude is not None:
            self.claude.look_again()

        async def promise() -> None:
            with anyio.move_on_after(after_s):
                await self.over.wait()
                return
            self.stop(Cause.INTERRUPT, step_s=self._interrupt_grace_s)

        self._tasks.start_soon(promise)

    def _send(self, prompt: str) -> None:
        assert self.claude is not None
        self.claude.send(self.steering.before(prompt) if self.steering else prompt)

    async def _answered(self, claude: RunningClaude) -> None:
        self._wait = wait = BackgroundWait(
            claude,
            wait_s=self.order.background_wait_s,
            grace_s=self._exit_grace_s,
            is_to_stop=self._is_to_stop,
        )
        with anyio.move_on_after(self.order.turn_timeout_s):
            await claude.until(lambda: claude.conversation.mcp is not None or wait.answered)
            if not self._lacks_signals(claude):
                await wait.settled()
            return
        self.stop(Cause.TIMEOUT, step_s=self._interrupt_grace_s)
        await claude.until(lambda: wait.answered)

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
            self._note_background()
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
        self._note_background()
        wait = self._wait if self.stopped_by is None and self._failure is None else None
        by_itself = await see_out(
            claude,
            wait=wait,
            # output that has ended is seen before the exit, which says by what it was killed
            grace_s=0 if self._ended_background and not claude.over else self._exit_grace_s,
            ladder=lambda: self._ladder,
        )
        self._note_background()
        left = await left_behind(claude, self._enclosure) if self._ladder is None else ()
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
        await claude.close()
        self.over.set()
        return Finish.of(
            outcome,
            claude.conversation,
            turn=self.turn,
            stopped_by=self.stopped_by,
            stop=self.steering.stop_reason if self.steering else None,
            ended_background=self._ended_background,
            ended_processes=left,
            usage=usage,
        )

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
        if self._verdict is not None or message is None or message.result is None:
            return
        if self.stopped_by is None and self._wait is not None and self._wait.holds:
            return
        self._verdict = decide(
            message.result,
            None,
            stopped_by=self.stopped_by,
            halted=self.steering is not None and self.steering.halted,
        )
        if isinstance(self._verdict, Completed) and self._ends_background_for_owner:
            self._verdict = Stopped(self._verdict.text)

    @property
    def _ends_background_for_owner(self) -> bool:
        claude = self.claude if self._stopped_by_owner else None
        return claude is not None and bool(claude.conversation.background.open)

    def _note_background(self) -> None:
        """Remember what is open now: it ends with the run."""
        if self.claude is None or self._ended_background:
            return
        self._ended_background = tuple(self.claude.conversation.background.shown())
        if self._ended_background:
            self.claude.conversation.stopping = True

    def _is_last_turn(self) -> bool:
        return (
            not isinstance(self._verdict, Completed)
            or self.order.goal is None
            or self.signals.given
            or self._is_to_stop()
            or self.turn >= self.order.max_turns
        )

    def _is_to_stop(self) -> bool:
        by_us = self.stopped_by is not None or self._failure is not None
        return by_us or self._stopped_by_owner

    @property
    def _stopped_by_owner(self) -> bool:
        return self.steering is not None and self.steering.stop_reason is not None

    def _without_answer(self, claude: RunningClaude, exit_: Exit | None, usage: Usage) -> Outcome:
        if claude.broken is not None and self.stopped_by is None:
            return Failed(claude.broken)
        return decide(
            None,
            exit_,
            stopped_by=self.stopped_by,
            oom=was_out_of_memory(usage, self._enclosure.kind),
            stderr=claude.stderr,
            broken_off=self._wait is not None and self._wait.broken_off,
        )
