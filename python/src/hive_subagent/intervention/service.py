"""InterventionService from the owner's tool and from channel files, on whatever runs."""

from __future__ import annotations

import logging
import shutil
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import anyio

from hive_subagent.errors import Refused
from hive_subagent.intervention.intervention import (
    MOST_TEXT,
    MOST_WAITING,
    TEXT_LIMIT,
    Intervention,
)
from hive_subagent.intervention.queue import InterventionQueue, Keep
from hive_subagent.intervention.run_steering import RunSteering
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
        self._steered: dict[SteeredSession, RunSteering] = {}
        self._ended: OrderedDict[Path, None] = OrderedDict()
        if self._folder is not None:
            private_directory(self._folder)
            # of a daemon before this one: what a parent wrote stays, what we wrote goes
            for directory in sorted(self._folder.iterdir()):
                self._forget_later(directory)

    def open(self, session: SteeredSession, *, keep: Keep) -> RunSteering:
        """For a run that is about to begin; what it has not delivered goes to `keep`."""
        queue = InterventionQueue(
            missed=session.record.kept,
            keep=keep,
            changed=lambda note: self._publish(session, note),
        )
        steering = RunSteering(session, queue, stop_grace_s=self._settings.stop_grace_s)
        if self._folder is not None:
            directory = self._folder / session.record.name
            steering.open_channel(directory, self._watches)
            if steering.channel is not None:
                self._ended.pop(directory, None)
        self._steered[session] = steering
        return steering

    def close(self, session: SteeredSession) -> None:
        """Nothing is left of its run: its channel may be removed some time."""
        steering = self._steered.pop(session, None)
        if steering is None or steering.channel is None:
            return
        try:
            self._forget_later(steering.channel.directory)
        except OSError as error:  # what is only tidied up must not cost the run its ending
            log.warning("`%s`: its channel is not removed: %s", session.record.name, error)

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
        if session is None or steered is None or steered.queue.over:
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
        steered.take(note, now=now)
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
