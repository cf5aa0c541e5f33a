"""The calls of an owner: start, continue, status, interrupt, wait."""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Sequence
from typing import Literal

import anyio

from hive_subagent.errors import Refused
from hive_subagent.messages import launches, sessions
from hive_subagent.messages.prompts import DEFAULT_TRIGGER, READER_NOTE
from hive_subagent.messages.response_budget import fit_processes
from hive_subagent.models.replies import (
    DelegationList,
    InterruptReply,
    SessionList,
    StartReply,
    StatusReply,
    WaitReply,
)
from hive_subagent.models.session import Cause, SessionView
from hive_subagent.models.transcript import TranscriptReply
from hive_subagent.sessions import checks, paths, transcript
from hive_subagent.sessions.executor import Executor
from hive_subagent.sessions.groups import cancel, find, is_group
from hive_subagent.sessions.options import Options
from hive_subagent.sessions.prepare import Preparation
from hive_subagent.sessions.status import Progress, StatusReader, until_over
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.sessions.view import ended_view

log = logging.getLogger(__name__)

NO_OPTIONS = Options()


class SessionService:
    """The owner's side of all runs. Every refusal is a Refused with one line."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._settings = executor.settings
        self._registry = executor.registry
        self._status = StatusReader(executor)
        self._prepare = Preparation(executor.settings, executor.records, executor.registry)
        self._stopping = False

    @property
    def running(self) -> int:
        """How many runs are starting or running."""
        return len(self._registry.live)

    async def start(
        self,
        name: str,
        prompt_file: str | None = None,
        *,
        prompt: str | None = None,
        trigger: str | None = None,
        dir: str | None = None,
        options: Options = NO_OPTIONS,
    ) -> tuple[StartReply, str]:
        """A new session under `name`; a finished one of that name is archived.

        Its brief is `prompt`, or what `prompt_file` holds: one of the two.
        """
        self._check_call(name)
        message = checks.check_text("trigger", trigger or DEFAULT_TRIGGER)
        directory = await paths.directory(dir or "", base=self._settings.work_dir)
        brief = await paths.brief(prompt, prompt_file, base=directory)
        options = await options.located(directory)
        # again: another call may have come between. From here to the launch nothing waits
        self._check_call(name)
        session_id = str(uuid.uuid4())
        record = SessionRecord(name=name, session_id=session_id, dir=str(directory), ours=True)
        launch = self._prepare.new(record, message, options, brief + READER_NOTE.encode())
        reply, begun = await self._executor.launch(launch)
        notice = launches.notices_go(self._settings.sink_kinds)
        return reply, launches.started(reply, begun=begun, notice=notice)

    async def continue_(
        self,
        name: str,
        prompt: str,
        *,
        dir: str | None = None,
        options: Options = NO_OPTIONS,
    ) -> tuple[StartReply, str]:
        """Another run of an existing session; one that is not ours is asked of claude."""
        self._check_call(name)
        checks.check_text("prompt", prompt)
        known = self._registry.record(name)
        base, config_dir = self._settings.work_dir, self._settings.claude_config_dir
        if known is not None and known.session_id:
            directory = await paths.directory_of(known, dir or "", base=base, config_dir=config_dir)
        else:
            directory = await paths.directory(dir or (known.dir if known else ""), base=base)
        options = await options.located(directory)
        # again: another call may have come between. From here to the launch nothing waits
        self._check_call(name)
        which = self._status.which(name)
        launch, known = self._prepare.resumed(name, directory, prompt, options)
        reply, begun = await self._executor.launch(launch)
        before = ended_view(known)
        notice = launches.notices_go(self._settings.sink_kinds)
        return reply, launches.continued(
            reply, before=before, begun=begun, notice=notice, which=which
        )

    async def status(self, name: str) -> tuple[SessionView, str]:
        """How one session is doing."""
        return self._status.one(name)

    async def transcript(
        self,
        name: str,
        *,
        last: int = transcript.LAST,
        before: int | None = None,
        search: str | None = None,
    ) -> tuple[TranscriptReply, str]:
        """A page of what claude has written down of a session."""
        view = self._status.view(checks.check_name(name))
        config_dir = self._settings.claude_config_dir
        return await transcript.read(config_dir, view, last=last, before=before, search=search)

    async def status_of_all(self) -> tuple[StatusReply, str]:
        """The runs of this daemon's life, as many as fit."""
        return self._status.all()

    async def status_of_group(self, name: str) -> tuple[StatusReply, str]:
        """How the sessions of a delegation are doing."""
        return self._status.group(name)

    def sessions(self, *, ended: bool = True, most: int) -> SessionList:
        """How all sessions stand, in short, for a program."""
        return self._status.every(ended=ended, most=most)

    def groups(self) -> DelegationList:
        """How the delegations stand, in short, for a program."""
        return self._status.groups()

    async def interrupt(self, name: str, *, force: bool = False) -> tuple[InterruptReply, str]:
        """Stop what runs under `name`, which may be a delegation's; returns once it is over."""
        if is_group(name):
            step_s = self._settings.interrupt_grace_s
            return await cancel(find(self._registry.groups, name), step_s=step_s, force=force)
        session = self._registry.running(checks.check_name(name))
        if session is None:
            _, how = self._status.one(name)
            raise Refused(f"nothing to interrupt: {how}", kind="conflict", name=name)
        log.info("`%s` is interrupted by its owner%s", name, " by force" if force else "")
        queued = session.queued
        if queued:
            group = find(self._registry.groups, session.record.delegation or "")
            group.withdraw(name, Cause.INTERRUPT)
        else:
            session.stop(Cause.INTERRUPT, step_s=self._settings.interrupt_grace_s, force=force)
        await session.over.wait()
        died, left_out = fit_processes(list(session.run.died.values()) if session.run else [])
        reply = InterruptReply(
            name=name,
            session_id=session.record.session_id,
            forced=force,
            ended=not (session.run and session.run.remains),
            processes=died,
            left_out=left_out,
        )
        session_id = self._status.session_of(name) or reply.session_id
        return reply, sessions.interrupted(
            reply,
            ended_view(session.record),
            queued=queued,
            resumed=session.resumed,
            remains=session.run.remains if session.run else "",
            older=session_id if session_id != reply.session_id else None,
        )

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
            raise Refused(
                f"timeout_s {timeout_s} is out of range: give seconds from 0",
                name="timeout_s",
                limit=0,
            )
        if names is not None and not names:
            raise Refused(
                "names is empty: name what to wait for, or leave it out to wait for all",
                name="names",
            )
        if names is None:
            unfinished = [*self._registry.live, *self._registry.queued]
            names = [session.record.name for session in unfinished]
        waited = [self._status.awaited(name) for name in dict.fromkeys(names)]
        done = await until_over(
            [over for over, _ in waited],
            any_of_them=until == "any",
            timeout_s=timeout_s,
            progress=progress,
        )
        looks = [look for _, look in waited]
        return self._status.waited(looks, done=done, stopping=self._stopping)

    async def close(self) -> None:
        """Stop every run; bounded by `shutdown_grace_s` and what ending a tree takes."""
        self._stopping = True
        grace = self._settings.shutdown_grace_s
        step = min(self._settings.interrupt_grace_s, grace / 4)
        groups = list(self._registry.groups.values())
        for group in groups:
            if not group.over.is_set():
                group.stop(Cause.DAEMON_STOP, step_s=step)
        live = self._registry.live
        for session in live:
            session.stop(Cause.DAEMON_STOP, step_s=step)
        overs = [*(session.over for session in live), *(group.over for group in groups)]
        with anyio.move_on_after(grace):
            for over in overs:
                await over.wait()
        await self._executor.containment.end_everything()
        with anyio.move_on_after(grace):
            for over in overs:
                await over.wait()

    def _check_call(self, name: str) -> None:
        checks.check_name(name)
        self.check_serving()
        self._registry.check_free(name)

    def check_serving(self) -> None:
        """Raise Refused while the daemon stops."""
        if self._stopping:
            raise Refused("the daemon is stopping: call again once it is back", kind="unavailable")
