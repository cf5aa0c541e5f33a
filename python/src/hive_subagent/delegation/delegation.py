"""One delegation while it goes on: its queue, its children's runs, and its one notice."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from hive_subagent.delegation.notice import EndedChild, notice
from hive_subagent.delegation.recovery import KIND, Kept
from hive_subagent.delegation.schedule import Schedule
from hive_subagent.errors import SubagentError
from hive_subagent.models.notices import ChildEnd
from hive_subagent.models.replies import StartReply
from hive_subagent.models.session import Cause, ProcessInfo, SessionView, WaitPolicy
from hive_subagent.outbox.owed_files import ROOM
from hive_subagent.sessions.ending import child_end, now
from hive_subagent.sessions.executor import Executor
from hive_subagent.sessions.launch import Launch
from hive_subagent.sessions.lifecycle import LiveSession
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.sessions.view import ended_view

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Assignment:
    """A launch, and the seconds that the child has for its own work."""

    launch: Launch
    timeout_s: float

    @property
    def name(self) -> str:
        """The name of its session."""
        return self.launch.record.name


@dataclass
class Child:
    """An assignment and its session; `begun` says that its run was answered well."""

    assignment: Assignment
    session: LiveSession
    begun: bool = False

    @property
    def name(self) -> str:
        """The name of its session."""
        return self.assignment.name

    @property
    def record(self) -> SessionRecord:
        """Its session with the ending of this run, once there is one."""
        return self.session.record

    def view(self) -> SessionView:
        """Its session as it stands, later runs of it aside."""
        return ended_view(self.record) if self.record.ending else self.session.view()

    def stop(self, cause: Cause, *, step_s: float, force: bool) -> None:
        """Stop its run, unless it is over."""
        if not self.session.over.is_set():
            self.session.stop(cause, step_s=step_s, force=force)


class Delegation:
    """A group of runs. Create it, `promise` its notice, then `begin`; it does the rest itself."""

    def __init__(
        self,
        delegation: str,
        notice_id: str,
        assignments: Sequence[Assignment],
        *,
        policy: WaitPolicy,
        executor: Executor,
    ) -> None:
        self.id = delegation
        self.over = anyio.Event()
        self._notice_id = notice_id
        self._assignments = assignments
        self._children: dict[str, Child] = {}
        self._policy = policy
        self._executor = executor
        self._schedule = Schedule([each.name for each in assignments], policy)
        self._cause: Cause | None = None
        self._views: list[SessionView] = []
        self._died: list[ProcessInfo] = []

    def promise(self) -> None:
        """Keep on disk what a daemon after a crash needs for the notice. Raises Refused."""
        records = [
            self._children[each.name].record if self._children else each.launch.record
            for each in self._assignments
        ]
        kept = Kept(policy=self._policy, children=records).model_dump(mode="json")
        payload = {"name": self.id, "session_id": "", KIND: kept}
        # all children in one file, and once more as they ended
        room = ROOM * (1 + len(records))
        self._executor.outbox.promise(self._notice_id, payload, room=room)

    def keep(self) -> None:
        """Write down how those ended that have, where their own records will not say it."""
        if self.over.is_set():
            return
        try:
            self.promise()
        except SubagentError as error:
            log.error("delegation %s: its progress cannot be kept: %s", self.id, error)

    def begin(self) -> None:
        """Queue every child and begin as many as can run."""
        registry = self._executor.registry
        for each in self._assignments:
            self._children[each.name] = Child(each, self._executor.queue(each.launch))
        registry.freed.append(self._fill)
        registry.add_group(self)
        log.info("delegation %s of %s begins", self.id, ", ".join(self._children))
        self._fill()

    def views(self) -> list[SessionView]:
        """Its children as they stand, in their order."""
        return self._views or [child.view() for child in self._children.values()]

    def died(self) -> list[ProcessInfo]:
        """The processes that died with its children."""
        runs = [child.session.run for child in self._children.values()]
        return self._died or [process for run in runs if run for process in run.died.values()]

    def stop(self, cause: Cause, *, step_s: float, force: bool = False) -> None:
        """Cancel the queue and stop the children that run; called again it only hurries."""
        if not self._schedule.cancelled and not self._schedule.over:
            self._cause = cause
        running = sorted(self._schedule.running)
        self._schedule.cancel()
        self._drop_cancelled(cause)
        for name in running:
            self._children[name].stop(cause, step_s=step_s, force=force)
        self._settle_if_over()

    def _fill(self) -> None:
        registry = self._executor.registry
        children = self._children
        if any(children[n].session is not registry.running(n) for n in self._schedule.running):
            # one of them has just left; how it ended decides whether another may begin
            return
        for name in self._schedule.begin(registry.free):
            child = children[name]
            answer = self._executor.begin(child.session)
            self._executor.tasks.start_soon(self._watch, child, answer)

    async def _watch(self, child: Child, answer: asyncio.Future[StartReply]) -> None:
        try:
            await self._see_out(child, answer)
        except Exception:
            # its promise stays, so the next daemon sends the notice; nobody waits for that
            log.exception("delegation %s broke at the end of `%s`", self.id, child.name)
            self.over.set()

    async def _see_out(self, child: Child, answer: asyncio.Future[StartReply]) -> None:
        """See one child to its end; its time runs from the beginning of its own work."""
        session = child.session
        try:
            await asyncio.shield(answer)
            child.begun = True
        except SubagentError:
            pass  # the ending of its session holds it
        with anyio.move_on_after(child.assignment.timeout_s):
            await session.over.wait()
        if not session.over.is_set():
            self._stop(child, Cause.TIMEOUT)
            await session.over.wait()
        self._ended(child)
        self._fill()

    def _stop(self, child: Child, cause: Cause) -> None:
        child.stop(cause, step_s=self._executor.settings.interrupt_grace_s, force=False)

    def _ended(self, child: Child) -> None:
        ending = child.record.ending
        assert ending is not None
        for name in self._schedule.end(child.name, child_end(ending.reason)):
            self._stop(self._children[name], Cause.CANCELLED)
        if not child.begun:
            self._remember(child)
            self.keep()
        self._drop_cancelled(Cause.CANCELLED)
        self._settle_if_over()

    def withdraw(self, name: str, cause: Cause) -> None:
        """Take one child out of the queue, for its owner or the daemon's stop."""
        self._schedule.end(name, ChildEnd.CANCELLED)
        # it is not the child that is interrupted: nothing of it runs
        self._drop_cancelled(Cause.CANCELLED if cause is Cause.INTERRUPT else cause)
        self._settle_if_over()

    def _drop_cancelled(self, cause: Cause) -> None:
        """End the children that were in the queue and will never begin."""
        children = [self._children[name] for name in self._schedule.ended]
        dropped = [child for child in children if self._executor.drop(child.session, cause)]
        for child in dropped:
            self._remember(child)
        if dropped:
            self.keep()

    def _remember(self, child: Child) -> None:
        # a name that meant an earlier session goes on meaning that
        if child.assignment.launch.predecessor is None:
            self._executor.registry.remember(child.record)
        else:
            self._executor.registry.note_in_vain(child.name, self.id)

    def _settle_if_over(self) -> None:
        if self.over.is_set() or not self._schedule.over:
            return
        self._executor.registry.freed.remove(self._fill)
        ended = [
            EndedChild(child.record, child.session.further) for child in self._children.values()
        ]
        written = notice(
            self._notice_id,
            self.id,
            ended,
            policy=self._policy,
            cause=self._cause,
            config_dir=self._executor.settings.claude_config_dir,
            at=now(),
        )
        self._executor.outbox.fulfil(self._notice_id, written)
        log.info("delegation %s ended", self.id)
        # it can be asked for long after; its runs are let go
        self._views, self._died = self.views(), self.died()
        self._children.clear()
        self.over.set()
