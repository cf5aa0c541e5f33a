"""What an owner can ask: start, continue, status, interrupt, wait."""

from __future__ import annotations

import logging
import math
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import anyio

from hive_subagent.claude import transcripts
from hive_subagent.errors import Refused
from hive_subagent.models import (
    Cause,
    InterruptReply,
    SessionView,
    StartReply,
    StatusReply,
    WaitReply,
)
from hive_subagent.runs import checks, wording
from hive_subagent.runs.carrier import Carrier
from hive_subagent.runs.holding import refuse_if_title_is_open, take_lock
from hive_subagent.runs.launch import Launch
from hive_subagent.runs.records import SessionRecord
from hive_subagent.runs.run import Order
from hive_subagent.runs.session import LiveSession, ended_view
from hive_subagent.runs.waiting import Progress, until_over
from hive_subagent.runs.wishes import Wishes

log = logging.getLogger(__name__)

NO_WISHES = Wishes()


class Supervisor:
    """The owner's side of all runs. Every refusal is a Refused with one line."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._settings = carrier.settings
        self._registry = carrier.registry
        self._stopping = False

    @property
    def running(self) -> int:
        """How many runs are starting or running."""
        return len(self._registry.live)

    async def start(
        self,
        name: str,
        prompt_file: str,
        *,
        trigger: str | None = None,
        dir: str | None = None,
        wishes: Wishes = NO_WISHES,
    ) -> tuple[StartReply, str]:
        """A new session under `name`; a finished one of that name is archived."""
        self._check_call(name)
        directory = checks.check_directory(dir or "", base=self._settings.work_dir)
        brief = checks.read_brief(prompt_file, base=directory)
        prompt = checks.check_text("trigger", trigger or wording.DEFAULT_TRIGGER)
        record = wishes.granted(
            SessionRecord(name=name, session_id=str(uuid.uuid4()), dir=str(directory), ours=True),
            self._settings,
        )
        program = self._check_claude(directory)
        predecessor = self._registry.record(name)
        if predecessor is not None and predecessor.ours and (lock := self._lock(predecessor)):
            lock.release()  # only to see that nobody works in what is about to be archived
        # from the first check to the launch nothing waits, so no other call can come between
        reply, begun = await self._carrier.launch(
            Launch(
                record=record,
                order=_order(record, prompt),
                program=program,
                brief=self._carrier.records.save_brief(record.session_id, brief),
                predecessor=predecessor,
            )
        )
        return reply, wording.started(reply, begun=begun)

    async def continue_(
        self,
        name: str,
        prompt: str,
        *,
        dir: str | None = None,
        wishes: Wishes = NO_WISHES,
    ) -> tuple[StartReply, str]:
        """Another run of an existing session; one that is not ours is asked of claude."""
        self._check_call(name)
        checks.check_text("prompt", prompt)
        known = self._registry.record(name)
        base = self._settings.work_dir
        directory = checks.check_directory(dir or (known.dir if known else ""), base=base)
        if known is None:
            # existence is claude's business: it answers whether it has such a session there
            known = SessionRecord(name=name, session_id="", dir=str(directory), ours=False)
            refuse_if_title_is_open(self._settings.claude_config_dir, name, directory)
        elif not _same_directory(directory, known.dir):
            raise Refused(
                f"subagent `{name}` was started in {known.dir}, not in {directory}: leave `dir`"
                " out, it cannot move a session"
            )
        record = wishes.granted(known, self._settings)
        program = self._check_claude(directory)
        reply, begun = await self._carrier.launch(
            Launch(
                record=record,
                order=_order(record, prompt),
                program=program,
                brief=self._carrier.records.brief(record.session_id) if record.ours else None,
                resume=record.session_id or name,
                lock=self._lock(record) if record.session_id else None,
            )
        )
        return reply, wording.continued(reply, before=ended_view(known), begun=begun)

    async def status(self, name: str) -> tuple[SessionView, str]:
        """How one session is doing."""
        view = self._view(checks.check_name(name))
        return view, wording.describe(view)

    async def status_of_all(self) -> tuple[StatusReply, str]:
        """All runs of this daemon's life, running ones first."""
        live = [session.record.name for session in self._registry.live]
        names = [*live, *(n for n in self._registry.names if n not in live)]
        views = [self._view(name) for name in names]
        containment = self._carrier.containment.kind
        text = "\n".join(wording.describe(view) for view in views)
        return StatusReply(
            containment=containment, sessions=views
        ), text or "No subagent has run in this daemon's life."

    async def interrupt(self, name: str, *, force: bool = False) -> tuple[InterruptReply, str]:
        """Stop what runs under `name`; returns once it is over."""
        session = self._registry.running(checks.check_name(name))
        if session is None:
            view = self._view(name)
            raise Refused(f"nothing to interrupt: {wording.describe(view)}")
        log.info("`%s` is interrupted by its owner%s", name, " by force" if force else "")
        session.stop(Cause.INTERRUPT, step_s=self._settings.interrupt_grace_s, force=force)
        await session.over.wait()
        reply = InterruptReply(
            name=name,
            session_id=session.record.session_id,
            forced=force,
            ended=True,
            processes=list(session.run.died.values()) if session.run else [],
        )
        return reply, wording.interrupted(reply, ended_view(session.record))

    async def wait(
        self,
        names: Sequence[str] | None,
        *,
        until: Literal["all", "any"],
        timeout_s: float,
        progress: Progress,
    ) -> tuple[WaitReply, str]:
        """Wait until all or any of the sessions have ended, or for `timeout_s`.

        `progress(seconds waited, sessions still running)` is called at least every 20 s.
        """
        if not 0 <= timeout_s < math.inf:
            raise Refused(f"timeout_s {timeout_s} is out of range: give seconds from 0")
        if names is None:
            names = [session.record.name for session in self._registry.live]
        ended = [self._view(checks.check_name(name)) for name in names]
        waited = [self._registry.running(name) for name in names]
        done = await until_over(
            [session.over if session else None for session in waited],
            any_of_them=until == "any",
            timeout_s=timeout_s,
            progress=progress,
        )
        views = [
            _view_of(session) if session else view
            for session, view in zip(waited, ended, strict=True)
        ]
        reply = WaitReply(done=done, sessions=views)
        return reply, wording.waited(reply, stopping=self._stopping)

    async def close(self) -> None:
        """Stop every run; bounded by `shutdown_grace_s` and what ending a tree takes."""
        self._stopping = True
        grace = self._settings.shutdown_grace_s
        step = min(self._settings.interrupt_grace_s, grace / 4)
        live = self._registry.live
        for session in live:
            session.stop(Cause.DAEMON_STOP, step_s=step)
        with anyio.move_on_after(grace):
            for session in live:
                await session.over.wait()
        await self._carrier.containment.end_everything()
        with anyio.move_on_after(grace):
            for session in live:
                await session.over.wait()

    def _check_call(self, name: str) -> None:
        checks.check_name(name)
        if self._stopping:
            raise Refused("the daemon is stopping: call again once it is back")
        self._registry.check_free(name)

    def _check_claude(self, directory: Path) -> str:
        settings = self._settings
        if problem := transcripts.config_dir_problem(settings.claude_config_dir, directory):
            raise Refused(problem)
        return checks.check_program(settings.claude_bin, os.environ.get("PATH"))

    def _lock(self, record: SessionRecord) -> transcripts.TranscriptLock | None:
        return take_lock(self._settings.claude_config_dir, record)

    def _view(self, name: str) -> SessionView:
        if session := self._registry.running(name):
            return session.view()
        if record := self._registry.record(name):
            return ended_view(record)
        raise Refused(
            f"nothing is known of a subagent `{name}`: `start` it, or `continue` it with the `dir`"
            " it was started in if claude has a session of that name"
        )


def _order(record: SessionRecord, prompt: str) -> Order:
    if record.goal is None:
        return Order(prompt=prompt, turn_timeout_s=record.turn_timeout_s)
    return Order(
        prompt=prompt,
        goal=record.goal,
        max_turns=record.max_turns or 1,
        turn_timeout_s=record.turn_timeout_s,
    )


def _same_directory(directory: Path, known: str) -> bool:
    try:
        return os.path.samefile(directory, known)
    except OSError:
        return False


def _view_of(session: LiveSession) -> SessionView:
    return ended_view(session.record) if session.over.is_set() else session.view()
