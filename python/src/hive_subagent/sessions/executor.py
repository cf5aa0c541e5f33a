"""Carries one run from the spawn to its notice, in the daemon's own task group.

A client that hangs up cancels its call, never the run.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
from anyio.abc import TaskGroup

from hive_subagent.claude import outcome
from hive_subagent.containment import Containment, Enclosure
from hive_subagent.errors import Refused, SubagentError
from hive_subagent.messages import refusals, sessions
from hive_subagent.messages.endings import not_kept
from hive_subagent.models.replies import StartReply
from hive_subagent.models.session import Cause, StopReason
from hive_subagent.outbox.event_feed import EventFeed
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.sessions.ending import Ending, Failed, ending_without_result
from hive_subagent.sessions.events import finished, started, warn_of_missing_servers
from hive_subagent.sessions.finish import Finish, ending_of
from hive_subagent.sessions.launch import Launch, McpAccess, grant_for, invoke, launch_slots
from hive_subagent.sessions.pending_interventions import confirm, keep, settled, without_stops
from hive_subagent.sessions.registry import Registry
from hive_subagent.sessions.reporting import keep_ending, tell
from hive_subagent.sessions.result_files import keep_answers, may_write_reports
from hive_subagent.sessions.run import Run
from hive_subagent.sessions.session import LiveSession
from hive_subagent.sessions.session_lock import (
    archive,
    identify,
    missed,
    put_away,
    settle_in,
    take_lock,
)
from hive_subagent.sessions.steering import Steering, Steerings
from hive_subagent.sessions.store import SessionStore
from hive_subagent.sessions.view import ended_view, previous_of
from hive_subagent.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Executor:
    """The rooms a run passes through."""

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

    async def launch(self, launch: Launch) -> tuple[StartReply, bool]:
        """Start the run; returns at its first event, and whether there was one.

        Raises Refused when the name is taken or the run died before it said anything.
        """
        session = LiveSession(launch.record, resumed=launch.resume is not None, lock=launch.lock)
        answer = self.embark(launch, session)
        try:
            reply = await asyncio.shield(answer)
        except Refused:
            # told once nothing of the run is left, so that the same call may come again
            await session.over.wait()
            raise
        return reply, session.begun

    def embark(self, launch: Launch, session: LiveSession) -> asyncio.Future[StartReply]:
        """Start the run of `session` without waiting; its answer is what `launch` returns."""
        self.registry.enter(session)
        answer: asyncio.Future[StartReply] = asyncio.get_running_loop().create_future()
        # nobody may be left to hear of the error
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.tasks.start_soon(self._carry, session, launch, answer)
        return answer

    async def _carry(
        self, session: LiveSession, launch: Launch, answer: asyncio.Future[StartReply]
    ) -> None:
        run_id = str(uuid.uuid4())
        token = self.registry.mint(session) if launch.order.goal is not None else None
        enclosure: Enclosure | None = None
        try:
            enclosure = self.containment.open(
                run_id, memory_max=launch.record.memory_max, keeps_limit=launch.keeps_limit
            )
            run = Run(
                run_id,
                launch.order,
                enclosure,
                self.tasks,
                exit_grace_s=self.settings.exit_grace_s,
                interrupt_grace_s=self.settings.interrupt_grace_s,
                steering=self._steering(session),
            )
            session.attach(run)
            grant = grant_for(launch, self.settings, self.access, run_id, token=token)
            invocation = invoke(launch, self.settings, grant, enclosure.environment)
            try:
                async with self.slots:
                    # one that was stopped while it waited is not begun any more
                    lives = run.stopped_by is None and await run.begin(
                        invocation, confirm_s=self.settings.resume_confirm_s
                    )
                if lives:
                    self._confirm(session, launch, run, answer)
                    await run.turns()
            finally:
                with anyio.CancelScope(shield=True):
                    await self._finish(session, launch, run, answer)
            why = run.stopped_by or Cause.INTERRUPT
            self._refuse(answer, Refused(refusals.never_begun(launch.record.name, why)))
        except SubagentError as error:
            self._refuse(answer, error)
        except Exception:
            log.exception("run %s of `%s` broke", run_id, launch.record.name)
            self._refuse(answer, Refused(sessions.BROKEN))
            with anyio.CancelScope(shield=True):
                await self._tell_broken(session, run_id)
        finally:
            try:
                with anyio.CancelScope(shield=True):
                    if enclosure is not None:
                        await enclosure.end()
                        enclosure.close()
            except OSError:  # a fault here must cost neither the name nor the daemon
                log.exception("run %s of `%s` could not be put away", run_id, launch.record.name)
            finally:
                self._let_go(session, launch, run_id, token)

    def _steering(self, session: LiveSession) -> Steering | None:
        if self.steerings is None:
            return None
        # a daemon can die before the run it began was owed anything
        session.record, _ = settled(self.settings.claude_config_dir, session.record)
        keeping = partial(keep, session, records=self.records, registry=self.registry)
        return self.steerings.open(session, keep=keeping)

    async def _tell_broken(self, session: LiveSession, run_id: str) -> None:
        """A fault of ours ends a run as failed, and what was promised is told all the same."""
        missed = self._missed(session)
        if not session.owed or session.told:
            return
        session.record = session.record.model_copy(
            update={
                "ending": ending_without_result(Failed(), run_id=run_id, message=sessions.BROKEN)
            }
        )
        await self._tell(session, [], missed)

    async def _tell(self, session: LiveSession, reports: list[str], further: list[str]) -> None:
        """Tell the ending of a session by itself, or leave that to its delegation."""
        if session.record.delegation is None:
            await tell(session.record, self.outbox, reports, further)
        else:
            session.further = tuple(further)
        session.told = True
        # after the notice, which is promised room on a full disk and holds the ending, too
        saved = keep_ending(session.record, self.records, self.outbox)
        group = self.registry.groups.get(session.record.delegation or "")
        if group is not None and not saved:
            group.keep()
        self.events.emit(finished(session))

    def _missed(self, session: LiveSession, *, stopped: bool = False) -> list[str]:
        """Close the run's steering; what is to be said of that it did not deliver."""
        steering = session.run.steering if session.run else None
        missed = steering.leave(stopped=stopped) if steering else ()
        session.record = without_stops(session.record)
        return [sessions.undelivered(note) for note in missed]

    def _confirm(
        self, session: LiveSession, launch: Launch, run: Run, answer: asyncio.Future[StartReply]
    ) -> None:
        """The run lives: from here on it is owed a notice, and its name means this session.

        Raises SubagentError, with the run on its way out, when that cannot be kept.
        """
        try:
            reply = self._take_up(session, launch, run)
        except SubagentError as error:
            # told before the end that it causes is
            self._refuse(answer, error)
            session.given_up = str(error)
            run.stop(Cause.INTERRUPT, step_s=self.settings.interrupt_grace_s, force=True)
            raise
        answer.set_result(reply)
        if run.claude is not None:
            config_dir = self.settings.claude_config_dir
            self.tasks.start_soon(settle_in, session, run.claude, self.records, config_dir)
            self.tasks.start_soon(warn_of_missing_servers, session, run.claude)

    def _take_up(self, session: LiveSession, launch: Launch, run: Run) -> StartReply:
        claude = run.claude
        assert claude is not None
        session.begun = claude.conversation.begun
        config_dir = self.settings.claude_config_dir
        if identify(session, claude.conversation):
            session.lock = take_lock(config_dir, session.record, ignore_pids=(claude.pid,))
        record = session.record
        if record.delegation is None:
            self.outbox.promise(run.run_id, {"name": record.name, "session_id": record.session_id})
        try:
            self.records.save(record)
        except SubagentError:
            self.outbox.cancel(run.run_id)
            raise
        session.owed = True
        # only now: a start that fails loses nothing of the session before
        archived = archive(config_dir, launch.predecessor, self.records)
        session.begun_at = time.monotonic()
        log.info("run %s of `%s` began, pid %d", run.run_id, record.name, claude.pid)
        self.events.emit(started(session, run.run_id))
        return StartReply(
            name=record.name,
            session_id=record.session_id,
            dir=record.dir,
            pid=claude.pid,
            archived=archived,
            previous=previous_of(record) if session.resumed else None,
        )

    async def _finish(
        self, session: LiveSession, launch: Launch, run: Run, answer: asyncio.Future[StartReply]
    ) -> None:
        if run.claude is None:
            return
        finish = await run.finish()
        near = "" if launch.record.ours else self.registry.near(launch.record.name)
        config_dir, heard = self.settings.claude_config_dir, run.claude.conversation
        miss = missed(launch.record, heard, config_dir, near=near) if launch.resume else None
        if miss is not None:
            finish = replace(finish, outcome=outcome.Failed(miss))
        if not session.owed:
            died = session.record.model_copy(update={"ending": _ending(session, run, finish)})
            stillborn = refusals.stillborn(ended_view(died), finish.outcome)
            self._refuse(answer, Refused(miss or stillborn))
            return
        identify(session, heard)
        confirm(config_dir, session.record, heard)
        kept = await keep_answers(self.records, session.record.session_id, run.run_id, finish)
        ending = _ending(session, run, finish, result_file=kept.path)
        further = self._missed(session, stopped=ending.stop_reason is StopReason.STOPPED)
        record = session.record = session.record.model_copy(update={"ending": ending})
        reports = run.signals.report_files
        if reports and not await may_write_reports(record, self.settings):
            # what it may not do itself, we do not do for it
            further.append(sessions.reports_left(reports))
            reports = []
        further += not_kept(
            [kept.problem],
            remains=run.remains,
            limit=finish.usage.memory_max_lost,
            holds=finish.usage.memory_max_bytes,
        )
        await self._tell(session, reports, further)
        dead = ", ".join(f"{p.pid} ({p.command})" for p in run.died.values()) or "nothing else"
        how = f"{ending.stop_reason}; died with it: {dead}"
        log.info("run %s of `%s` ended: %s", run.run_id, record.name, how)

    def _let_go(self, session: LiveSession, launch: Launch, run_id: str, token: str | None) -> None:
        if token is not None:
            self.registry.revoke(token)
        self.access.withdraw(run_id)
        self._missed(session)
        if session.lock is not None:
            session.lock.release()
        if not session.owed and launch.resume is None:
            put_away(self.settings.claude_config_dir, launch.record)
            self.records.forget(launch.record.session_id)
        self.registry.leave(session, happened=session.owed)
        session.over.set()

    def _refuse(self, answer: asyncio.Future[StartReply], error: SubagentError) -> None:
        if not answer.done():
            answer.set_exception(error if isinstance(error, Refused) else Refused(str(error)))


def _ending(
    session: LiveSession, run: Run, finish: Finish, *, result_file: str | None = None
) -> Ending:
    return ending_of(
        finish,
        run.order,
        run.signals,
        run_id=run.run_id,
        containment=run.containment,
        before=session.record.ending,
        resumed=session.resumed,
        result_file=result_file,
    )
