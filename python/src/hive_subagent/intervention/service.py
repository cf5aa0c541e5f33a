"""InterventionService from the owner's tool and from channel files, on whatever runs."""

from __future__ import annotations

import logging
import shutil
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import anyio

from hive_subagent.errors import ConfigurationError, Refused
from hive_subagent.intervention.channel import Channel
from hive_subagent.intervention.intervention import (
    MOST_TEXT,
    MOST_WAITING,
    TEXT_LIMIT,
    Intervention,
)
from hive_subagent.intervention.queue import InterventionQueue, Keep
from hive_subagent.models.events import INTERVENTION_EVENTS, InterventionChanged
from hive_subagent.models.replies import InterveneReply
from hive_subagent.models.session import InterventionKind
from hive_subagent.outbox.event_feed import EventFeed
from hive_subagent.sessions import checks
from hive_subagent.sessions.ending import now
from hive_subagent.sessions.registry import REMEMBERED
from hive_subagent.sessions.steering import SteeredSession
from hive_subagent.settings import Settings
from hive_subagent.system import inotify
from hive_subagent.system.private_files import private_directory

log = logging.getLogger(__name__)

BRIEFLY_S = 2.0
"""Seconds that `intervene` waits for the delivery."""


class Steered:
    """A run's queue and its channel, which ends with the run."""

    def __init__(self, queue: InterventionQueue, channel: Channel | None) -> None:
        self.queue = queue
        self.channel = channel


class InterventionService:
    """The hand on all runs of one daemon."""

    def __init__(
        self,
        settings: Settings,
        running: Callable[[str], SteeredSession | None],
        *,
        near: Callable[[str], str] = lambda name: "",
        events: EventFeed | None = None,
    ) -> None:
        """`running` finds the live session of a name; `near` says which known names are like it.

        Raises ConfigurationError.
        """
        self._settings = settings
        self._running = running
        self._near = near
        self._events = events or EventFeed()
        self._folder = settings.runtime / "channels" if settings.channels else None
        self._watches = inotify.Watches()
        self._steered: dict[SteeredSession, Steered] = {}
        self._ended: OrderedDict[Path, None] = OrderedDict()
        if self._folder is not None:
            private_directory(self._folder)
            # of a daemon before this one: what a parent wrote stays, what we wrote goes
            for directory in sorted(self._folder.iterdir()):
                self._forget_later(directory)

    def open(self, session: SteeredSession, *, keep: Keep) -> InterventionQueue:
        """The queue of a run that is about to begin; what it has not delivered goes to `keep`."""
        channel = self._channel(self._folder, session) if self._folder is not None else None
        queue = InterventionQueue(
            missed=session.record.kept,
            keep=keep,
            hear=channel.hear if channel else lambda batch: None,
            look=channel.attend if channel else lambda: None,
            left=lambda: self._leave(session),
            changed=lambda note: self._publish(session, note),
        )
        self._steered[session] = Steered(queue, channel)
        if channel is not None:
            self._ended.pop(channel.directory, None)
            if session.resumed:
                channel.refuse("_stop.txt", "it was meant for a run that was over")
                channel.look()
        return queue

    async def intervene(
        self, name: str, kind: InterventionKind, text: str, *, now: bool = False
    ) -> tuple[InterveneReply, str]:
        """Hand a word to a running subagent; waits briefly for it to arrive. Raises Refused."""
        checks.check_name(name)
        checks.check_text("text", text, limit=TEXT_LIMIT)
        session = self._running(name)
        steered = self._steered.get(session) if session is not None else None
        if session is not None and session.queued:
            raise Refused(
                f"subagent `{name}` waits in the queue: intervene once it runs",
                kind="conflict",
                name=name,
            )
        if session is None or steered is None:
            raise Refused(
                f"subagent `{name}`{self._near(name)} does not run, so there is nothing to"
                " intervene in: `continue` it with what you want to say",
                kind="conflict",
                name=name,
            )
        if now and kind != "redirect":
            raise Refused(f"now is for redirect, not for {kind}: leave it out", name="now")
        note = Intervention(kind=kind, text=text.strip())
        if not steered.queue.has_room(kind, note.size):
            raise Refused(_full(name, kind), kind="limit", name=name)
        self._put(session, steered, note, now=now)
        claude = session.run.claude if session.run else None
        if claude is not None:
            with anyio.move_on_after(BRIEFLY_S):
                await claude.until(lambda: note.state != "queued")
                if note.state == "queued":
                    # nothing comes any more, and the run is about to say what it missed
                    await session.over.wait()
        reply = InterveneReply(id=note.id, name=name, kind=kind, state=note.state)
        idles = session.run is not None and session.run.idles
        grace_s = self._settings.stop_grace_s
        return reply, _receipt(reply, grace_s, owed=session.owed, idles=idles)

    def _put(
        self, session: SteeredSession, steered: Steered, note: Intervention, *, now: bool = False
    ) -> None:
        kind = note.kind
        steered.queue.put(note)
        run = session.run
        # one that only waits for its background tasks comes to no step
        at_once = run is not None and kind == "redirect" and (now or run.idles)
        if run is not None and at_once and (message := run.redirect(steered.queue.everything())):
            steered.queue.sent(message)
        if run is not None and kind == "stop":
            run.stop_later(self._settings.stop_grace_s)
        log.info("`%s`: %s %s is queued", session.record.name, kind, note.id)
        if steered.channel is not None:
            steered.channel.output.tell(f"owner: {kind} {note.id} is queued")

    def _publish(self, session: SteeredSession, note: Intervention) -> None:
        record = session.record
        self._events.publish(
            InterventionChanged(
                event=INTERVENTION_EVENTS[note.state],
                id=note.id,
                name=record.name,
                session_id=record.session_id,
                kind=note.kind,
                at=now(),
            )
        )

    def _channel(self, folder: Path, session: SteeredSession) -> Channel | None:
        name = session.record.name

        def put(kind: InterventionKind, text: str, id: str) -> None:
            if (steered := self._steered.get(session)) is not None:
                self._put(session, steered, Intervention(kind=kind, text=text, id=id))

        def room(kind: InterventionKind, size: int) -> bool:
            steered = self._steered.get(session)
            return steered is None or steered.queue.has_room(kind, size)

        try:
            return Channel(
                folder / name,
                watches=self._watches,
                put=put,
                room=room,
                anew=not session.resumed,
            )
        except ConfigurationError as error:
            log.warning("`%s` has no channel: %s", name, error)
            return None

    def _leave(self, session: SteeredSession) -> None:
        steered = self._steered.pop(session, None)
        if steered is None or steered.channel is None:
            return
        try:
            steered.channel.output.tell("the run is over")
            steered.channel.close()
            self._forget_later(steered.channel.directory)
        except OSError as error:  # what is only tidied up must not cost the run its ending
            log.warning("`%s`: its channel is not tidied up: %s", session.record.name, error)

    def _forget_later(self, directory: Path) -> None:
        """Keep the channels of the last ended runs only, and any that holds a parent's words."""
        self._ended[directory] = None
        self._ended.move_to_end(directory)
        if len(self._ended) <= REMEMBERED:
            return
        oldest, _ = self._ended.popitem(last=False)
        if self._running(oldest.name) is None and not any(oldest.glob("*_*")):
            shutil.rmtree(oldest, ignore_errors=True)


def _full(name: str, kind: InterventionKind) -> str:
    if kind == "stop":
        return f"a stop for subagent `{name}` waits already, and is carried out"
    return (
        f"too much waits for subagent `{name}` (at most {MOST_WAITING} texts, and"
        f" {MOST_TEXT // 1024} KiB together): wait until it has read them, or stop it"
    )


def _receipt(reply: InterveneReply, stop_grace_s: float, *, owed: bool, idles: bool) -> str:
    """`owed` says that the run's ending is told, by a notice and to whoever waits.

    `idles`: it has answered, and does nothing itself until its background work has ended.
    """
    what = f"{reply.kind} {reply.id} for `{reply.name}`"
    match reply.state:
        case "delivered":
            after = " The run ends now; `wait` tells how." if reply.kind == "stop" else ""
            return f"Delivered: {what}.{after}"
        case "missed" if not owed:
            return (
                f"Missed: {what}; the run died before its first event, which is the error of the"
                " call that started it. No notice comes."
            )
        case "missed":
            kept = "" if reply.kind == "stop" else " It is kept for the session's next turn."
            return f"Missed: {what}; the run ended first, and `wait` tells how.{kept}"
    promise = (
        f" If no step comes within {stop_grace_s:.0f} s, the run is interrupted."
        if reply.kind == "stop"
        else ""
    )
    arrives = (
        "arrives once its background work has ended and it goes on: until then it does nothing"
        if idles
        else "arrives at its next step"
    )
    return f"Queued: {what} {arrives}; `status` lists what is pending.{promise}"
