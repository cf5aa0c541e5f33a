"""How sessions stand, for `status` and `wait`, and the waiting itself, with signs of life."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import anyio

from hive_subagent.claude import transcripts
from hive_subagent.errors import Refused
from hive_subagent.messages import refusals, sessions
from hive_subagent.messages.advice import left_memory
from hive_subagent.messages.response_budget import MOST, Several, briefly, in_short, several
from hive_subagent.models.replies import (
    DelegationList,
    DelegationView,
    SessionList,
    StatusReply,
    WaitReply,
)
from hive_subagent.models.session import SessionView
from hive_subagent.sessions import checks
from hive_subagent.sessions.executor import Executor
from hive_subagent.sessions.groups import find, is_group
from hive_subagent.sessions.lifecycle import LiveSession
from hive_subagent.sessions.store import Unreadable
from hive_subagent.sessions.view import ended_view

PROGRESS_S = 20.0
"""Seconds between signs of life: clients give up after 300 s of silence."""

Progress = Callable[[float, int], Awaitable[None]]
"""Called with the seconds waited and how many runs are not over yet."""

Look = Callable[[], list[SessionView]]
"""Returns how the sessions of one name or delegation stand."""


@dataclass(frozen=True)
class StatusReader:
    """Costs nothing and changes nothing. Every refusal is a Refused with one line."""

    executor: Executor

    def one(self, name: str) -> tuple[SessionView, str]:
        """How one session is doing."""
        view = self.view(checks.check_name(name))
        answer = sessions.describe(view)
        return view, f"{answer}\n\n{which}" if (which := self.which(name)) else answer

    def which(self, name: str) -> str:
        """A sentence where a name means a session that one may not expect; else empty."""
        registry = self.executor.registry
        delegation, record = registry.in_vain(name), registry.record(name)
        if delegation is None or record is None or registry.running(name):
            return ""
        return sessions.left_none(name, delegation, session_id=record.session_id)

    def session_of(self, name: str) -> str | None:
        """The id of the session that a name means now, as far as that is known."""
        try:
            record = self.executor.registry.record(name)
        except Unreadable:
            return None
        return record.session_id if record is not None else None

    def all(self) -> tuple[StatusReply, str]:
        """Those that run, those that wait to, and of the ended ones the latest, as many as fit."""
        names = self._names()
        views, unreadable = [], []
        for name in names[:MOST]:
            try:
                views.append(self.view(name))
            except Unreadable as error:
                unreadable.append(f"{error}.")
        further = len(names) - len(views)
        answer = briefly(views, further=further, transcript=self._transcript)
        if unreadable:
            answer = replace(answer, text="\n".join([*unreadable, answer.text]))
        return self._status(answer)

    def every(self, *, ended: bool, most: int) -> SessionList:
        """All that run or wait to and, where `ended`, those that have ended: at most so many."""
        registry = self.executor.registry
        names = self._names() if ended else self._unfinished()
        views, unreadable = [], []
        for name in names[:most]:
            try:
                views.append(in_short(self.view(name)))
            except Unreadable as error:
                unreadable.append(f"{error}.")
        return SessionList(
            containment=self.executor.containment.kind,
            running=len(registry.live),
            queued=len(registry.queued),
            max_running=self.executor.settings.max_running,
            sessions=views,
            left_out=len(names) - len(views) - len(unreadable),
            unreadable=unreadable,
            left_memory_bytes=self.executor.containment.left_memory(),
        )

    def groups(self) -> DelegationList:
        """The last delegations, with their sessions in short."""
        return DelegationList(
            delegations=[
                DelegationView(
                    delegation=group.id,
                    over=group.over.is_set(),
                    sessions=[in_short(view) for view in group.views()],
                )
                for group in self.executor.registry.groups.values()
            ]
        )

    def _names(self) -> list[str]:
        """Every name of this daemon's life: unfinished ones, then the others from the latest on."""
        unfinished = self._unfinished()
        known = set(unfinished)
        ended = [n for n in reversed(self.executor.registry.names) if n not in known]
        return [*unfinished, *ended]

    def _unfinished(self) -> list[str]:
        registry = self.executor.registry
        return [session.record.name for session in [*registry.live, *registry.queued]]

    def group(self, name: str) -> tuple[StatusReply, str]:
        """How the sessions of a delegation are doing."""
        return self._status(self.several(find(self.executor.registry.groups, name).views()))

    def awaited(self, name: str) -> tuple[anyio.Event | None, Look]:
        """The event of the end of a name or a delegation, unless it is over, and how it stands."""
        registry = self.executor.registry
        if is_group(name):
            group = find(registry.groups, name)
            return group.over, group.views
        session, view = registry.running(checks.check_name(name)), self.view(name)
        if session is None:
            return None, lambda: [view]
        return session.over, lambda: [_view_of(session)]

    def waited(self, looks: Iterable[Look], *, done: bool, stopping: bool) -> tuple[WaitReply, str]:
        """The answer of `wait`, each session once."""
        # one that was continued since its delegation is another run, of its own
        found = {
            (view.session_id or view.name, view.delegation): view
            for look in looks
            for view in look()
        }
        if not found:
            nothing = "Nothing is running, so there is nothing to wait for."
            return WaitReply(done=done, sessions=[]), nothing
        lead = ""
        if stopping:
            lead = "The daemon is stopping and ends its subagents."
        elif not done:
            lead = "Not ended yet when the time was up; `wait` again or look later."
        answer = self.several(list(found.values()), lead=lead)
        return WaitReply(done=done, sessions=answer.sessions, left_out=answer.left_out), answer.text

    def view(self, name: str) -> SessionView:
        """A session as it stands. Raises Refused where nothing is known of it, or not readable."""
        registry = self.executor.registry
        if session := registry.running(name):
            return session.view()
        if record := registry.record(name):
            return self._with_transcript(ended_view(record))
        raise Refused(refusals.unknown(name, registry.near(name)), kind="not_found", name=name)

    def several(self, views: Sequence[SessionView], *, lead: str = "") -> Several:
        """The answer about these sessions: of a single one the whole."""
        if len(views) == 1:
            view = self._with_transcript(views[0])
            answer = sessions.describe(view)
            return Several([view], 0, f"{lead}\n{answer}" if lead else answer)
        return several(views, lead=lead, transcript=self._transcript)

    def _status(self, answer: Several) -> tuple[StatusReply, str]:
        left = self.executor.containment.left_memory()
        reply = StatusReply(
            containment=self.executor.containment.kind,
            sessions=answer.sessions,
            left_out=answer.left_out,
            left_memory_bytes=left,
        )
        text = answer.text or "No subagent has run in this daemon's life."
        return reply, f"{text}\n{memory.strip()}" if (memory := left_memory(left)) else text

    def _with_transcript(self, view: SessionView) -> SessionView:
        if not view.result_cut or view.transcript is not None:
            return view
        return view.model_copy(update={"transcript": self._transcript(view)})

    def _transcript(self, view: SessionView) -> str | None:
        place = (self.executor.settings.claude_config_dir, view.dir, view.session_id)
        found = transcripts.find(*place) or transcripts.find_archived(*place)
        return str(found) if found else None


def _view_of(session: LiveSession) -> SessionView:
    return ended_view(session.record) if session.over.is_set() else session.view()


async def until_over(
    overs: Sequence[anyio.Event | None],
    *,
    any_of_them: bool,
    timeout_s: float,
    progress: Progress,
) -> bool:
    """Wait until all (or any) of the events are set; whether that came within `timeout_s`.

    None stands for a run that was over before.
    """
    began = anyio.current_time()
    deadline = began + timeout_s

    def pending() -> list[anyio.Event]:
        return [over for over in overs if over is not None and not over.is_set()]

    def done() -> bool:
        left = pending()
        return not left or (any_of_them and len(left) < len(overs))

    while not done() and anyio.current_time() < deadline:
        with anyio.move_on_after(min(PROGRESS_S, deadline - anyio.current_time())):
            await _first_of(pending())
        await progress(anyio.current_time() - began, len(pending()))
    return done()


async def _first_of(events: Sequence[anyio.Event]) -> None:
    async with anyio.create_task_group() as tasks:

        async def watch(event: anyio.Event) -> None:
            await event.wait()
            tasks.cancel_scope.cancel()

        for event in events:
            tasks.start_soon(watch, event)
