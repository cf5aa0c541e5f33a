"""Carries one run from its reserved name to its notice, in the daemon's own task group.

It is the only writer of a run's state, which `lifecycle` describes. A client that hangs up cancels
its call, never the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
from anyio.abc import TaskGroup

from hive_subagent.claude import outcome
from hive_subagent.claude.process import RunningClaude
from hive_subagent.containment import Containment, Enclosure
from hive_subagent.errors import RefusalKind, Refused, SubagentError
from hive_subagent.messages import refusals, sessions
from hive_subagent.messages.endings import not_kept
from hive_subagent.models.replies import StartReply
from hive_subagent.models.session import Cause, StopReason, Undelivered
from hive_subagent.outbox.event_feed import EventFeed
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.sessions import pending_interventions as pending
from hive_subagent.sessions import reporting, session_lock
from hive_subagent.sessions.ending import Killed, ending_without_result
from hive_subagent.sessions.launch import Launch, McpAccess, grant_for, invoke, launch_slots
from hive_subagent.sessions.lifecycle import Lifecycle, LiveSession
from hive_subagent.sessions.registry import Registry
from hive_subagent.sessions.result_files import keep_answers, reports_of
from hive_subagent.sessions.run import Run
from hive_subagent.sessions.steering import Steering, Steerings
from hive_subagent.sessions.store import SessionStore
from hive_subagent.sessions.view import ended_view, start_reply
from hive_subagent.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Executor:
    """The life of every run."""

    settings: Settings
    containment: Containment
    records: SessionStore
    registry: Registry
    outbox: Outbox
    access: McpAccess
    tasks: TaskGroup
    steerings: Steerings | None = None
    events: EventFeed = field(default_factory=EventFeed)
    slots: anyio.CapacityLimiter = field(default_factory=launch_slots)
    _queued: dict[LiveSession, Lifecycle] = field(default_factory=dict, init=False)

    async def launch(self, launch: Launch) -> tuple[StartReply, bool]:
        """Start the run; returns at its first event, and whether there was one.

        Raises Refused when the name is taken or the run died before it printed anything.
        """
        life = Lifecycle(launch)
        self._begin(life)
        try:
            reply = await asyncio.shield(life.answer)
        except Refused:
            # reported once nothing of the run is left, so that the same call may come again
            await life.over.wait()
            raise
        return reply, life.had_event

    def queue(self, launch: Launch) -> LiveSession:
        """Reserve the name of a run that waits for a place. Raises Refused when it is taken."""
        life = Lifecycle(launch, queued=True)
        self.registry.queue(life.session)
        self._queued[life.session] = life
        return life.session

    def begin(self, session: LiveSession) -> asyncio.Future[StartReply]:
        """Start a run that is queued; returns its answer, as `launch` does, without waiting."""
        life = self._queued.pop(session)
        life.reserve()
        self._begin(life)
        return life.answer

    def drop(self, session: LiveSession, cause: Cause) -> bool:
        """End a run that is queued, as killed by `cause`; whether it was."""
        life = self._queued.pop(session, None)
        if life is None:
            return False
        self.registry.leave_queue(session)
        life.set_ending(ending_without_result(Killed(cause=cause), left_session=False))
        self.records.forget(life.record.session_id)
        life.finish()
        return True

    def _begin(self, life: Lifecycle) -> None:
        self.registry.enter(life.session)
        self.tasks.start_soon(self._carry, life)

    async def _carry(self, life: Lifecycle) -> None:
        launch = life.launch
        token = self.registry.mint(life.signals) if launch.order.goal is not None else None
        enclosure: Enclosure | None = None
        try:
            enclosure = self.containment.open(
                life.run_id, memory_max=launch.record.memory_max, keeps_limit=launch.keeps_limit
            )
            run = self._run(life, enclosure)
            life.start(run)
            grant = grant_for(launch, self.settings, self.access, life.run_id, token=token)
            invocation = invoke(launch, self.settings, grant, enclosure.environment)
            try:
                async with self.slots:
                    # one that was stopped while it waited is not begun any more
                    lives = run.stopped_by is None and await run.begin(
                        invocation, confirm_s=self.settings.resume_confirm_s
                    )
                if lives:
                    self._confirm(life, run)
                    await run.turns()
            finally:
                with anyio.CancelScope(shield=True):
                    await self._finish(life, run)
            name, why = launch.record.name, run.stopped_by or Cause.INTERRUPT
            life.refuse(Refused(refusals.never_begun(name, why), kind="conflict", name=name))
        except SubagentError as error:
            life.refuse(error)
        except Exception:
            log.exception("run %s of `%s` broke", life.run_id, launch.record.name)
            life.refuse(Refused(sessions.BROKEN, kind="failed"))
            with anyio.CancelScope(shield=True):
                await self._report_broken(life)
        finally:
            try:
                with anyio.CancelScope(shield=True):
                    if enclosure is not None:
                        await enclosure.end()
                        enclosure.close()
            except OSError:  # a fault here must cost neither the name nor the daemon
                log.exception("run %s of `%s` is not put away", life.run_id, launch.record.name)
            finally:
                self._let_go(life, token)

    def _run(self, life: Lifecycle, enclosure: Enclosure) -> Run:
        return Run(
            life.run_id,
            life.launch.order,
            enclosure,
            self.tasks,
            signals=life.signals,
            exit_grace_s=self.settings.exit_grace_s,
            interrupt_grace_s=self.settings.interrupt_grace_s,
            steering=self._steering(life),
        )

    def _steering(self, life: Lifecycle) -> Steering | None:
        if self.steerings is None:
            return None
        # a daemon can die before the run it began was owed anything
        life.record, _ = pending.settled(self.settings.claude_config_dir, life.record)

        def keep(undelivered: tuple[Undelivered, ...]) -> None:
            life.record = life.record.model_copy(update={"kept": undelivered})
            if life.owed or life.session.resumed:
                pending.keep(
                    life.record, owed=life.owed, records=self.records, registry=self.registry
                )

        return self.steerings.open(life.session, keep=keep)

    def _confirm(self, life: Lifecycle, run: Run) -> None:
        """The run lives: from here on it is owed a notice, and its name means this session.

        Raises SubagentError, with the run on its way out, when that cannot be kept.
        """
        claude = run.claude
        assert claude is not None
        try:
            life.answer.set_result(self._take_up(life, claude))
            reporting.Changes(life.run_id, life.session, self.events).follow(claude)
        except SubagentError as error:
            # reported before the end that it causes is
            life.refuse(error)
            life.given_up = True
            run.stop(Cause.INTERRUPT, step_s=self.settings.interrupt_grace_s, force=True)
            raise
        name, settle = life.record.name, partial(self._settle, life, claude)
        self.tasks.start_soon(session_lock.until_settled, name, claude, settle)
        self.tasks.start_soon(reporting.warn_of_missing_servers, name, claude)

    def _take_up(self, life: Lifecycle, claude: RunningClaude) -> StartReply:
        config_dir = self.settings.claude_config_dir
        life.had_event = claude.conversation.begun
        if (record := session_lock.identified(life.record, claude.conversation)) is not None:
            life.record = record
            life.lock = session_lock.take_lock(config_dir, record, ignore_pids=(claude.pid,))
        record = life.record
        reporting.promise(record, life.run_id, self.records, self.outbox)
        life.confirm()
        # only now: a start that fails loses nothing of the session before
        archived = session_lock.archive(config_dir, life.launch.predecessor, self.records)
        log.info("run %s of `%s` began, pid %d", life.run_id, record.name, claude.pid)
        self.events.emit(reporting.started(record, life.run_id))
        return start_reply(record, claude.pid, archived=archived, resumed=life.session.resumed)

    def _settle(self, life: Lifecycle, claude: RunningClaude) -> bool:
        """Take up the session's id and its lock where they come late; whether both are there."""
        if (record := session_lock.identified(life.record, claude.conversation)) is not None:
            life.record = record
            self.records.save(record)
        if life.record.session_id and life.lock is None:
            config_dir = self.settings.claude_config_dir
            life.lock = session_lock.take_lock(config_dir, life.record, ignore_pids=(claude.pid,))
        return life.lock is not None

    async def _finish(self, life: Lifecycle, run: Run) -> None:
        life.end()
        if run.claude is None:
            return
        launch, heard = life.launch, run.claude.conversation
        finish = await run.finish()
        config_dir = self.settings.claude_config_dir
        miss = session_lock.missed(launch, heard, config_dir, near=self.registry.near)
        if miss is not None:
            finish = replace(finish, outcome=outcome.Failed(miss))
        if not life.owed:
            died = ended_view(life.record.with_ending(life.ending(finish)))
            kind: RefusalKind = "failed" if miss is None else "not_found"
            said = miss or refusals.stillborn(died, finish.outcome)
            life.refuse(Refused(said, kind=kind, name=died.name))
            return
        life.record = session_lock.identified(life.record, heard) or life.record
        pending.confirm(config_dir, life.record, heard)
        kept = await keep_answers(self.records, life.record.session_id, life.run_id, finish)
        ending = life.ending(finish, result_file=kept.path)
        further = self._missed(life, stopped=ending.stop_reason is StopReason.STOPPED)
        life.set_ending(ending)
        reports, left = await reports_of(life.record, life.signals, self.settings)
        further += not_kept(
            [*left, kept.problem],
            remains=run.remains,
            limit=finish.usage.memory_max_lost,
            holds=finish.usage.memory_max_bytes,
        )
        await self._report(life, reports, further)
        dead = ", ".join(f"{p.pid} ({p.command})" for p in run.died.values()) or "nothing else"
        how = (life.run_id, life.record.name, ending.stop_reason, dead)
        log.info("run %s of `%s` ended: %s; died with it: %s", *how)

    async def _report_broken(self, life: Lifecycle) -> None:
        """A fault of ours ends a run as failed, and its promised notice is sent all the same."""
        missed = self._missed(life)
        if life.owed and not life.reported:
            life.set_ending(life.broken_ending())
            await self._report(life, (), missed)

    async def _report(
        self, life: Lifecycle, reports: Sequence[str], further: Sequence[str]
    ) -> None:
        """Report the ending of a session by itself, or leave that to its delegation."""
        record = life.record
        if record.delegation is None:
            await reporting.report(record, self.outbox, reports, further)
        else:
            life.further = tuple(further)
        life.reported = True
        # after the notice, which has its space on a full disk and holds the ending, too
        if not reporting.keep_ending(record, self.records, self.outbox):
            self.registry.keep_group_of(record)
        self.events.emit(reporting.finished(record, life.began_at))

    def _missed(self, life: Lifecycle, *, stopped: bool = False) -> list[str]:
        """Close the run's steering; a sentence for each intervention that was not delivered."""
        steering = life.run.steering if life.run else None
        missed = steering.leave(stopped=stopped) if steering else ()
        life.record = pending.without_stops(life.record)
        return [sessions.undelivered(note) for note in missed]

    def _let_go(self, life: Lifecycle, token: str | None) -> None:
        life.end()
        launch = life.launch
        if token is not None:
            self.registry.revoke(token)
        self.access.withdraw(life.run_id)
        self._missed(life)
        if self.steerings is not None:
            self.steerings.close(life.session)
        if life.lock is not None:
            life.lock.release()
        if not life.owed and launch.resume is None:
            session_lock.put_away(self.settings.claude_config_dir, launch.record)
            self.records.forget(launch.record.session_id)
        self.registry.leave(life.session, happened=life.owed)
        if launch.record.delegation is not None and life.record.ending is None:
            life.set_ending(life.ending_without_session())
        life.finish()
