"""The steering of one run: its queue, and its channel where it has one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from hive_subagent.claude.hooks import Halt, Prompt, Steer
from hive_subagent.claude.stream import Follower
from hive_subagent.errors import ConfigurationError
from hive_subagent.intervention.channel import Channel
from hive_subagent.intervention.intervention import Intervention
from hive_subagent.intervention.queue import InterventionQueue
from hive_subagent.models.session import InterventionKind, PendingIntervention, Undelivered
from hive_subagent.sessions.steering import SteeredSession
from hive_subagent.system import inotify

log = logging.getLogger(__name__)


class RunSteering:
    """Asked by the run, and given what its owner says, by the tool or by a file of the channel."""

    def __init__(
        self, session: SteeredSession, queue: InterventionQueue, *, stop_grace_s: float
    ) -> None:
        self.queue = queue
        self.channel: Channel | None = None
        self._session = session
        self._stop_grace_s = stop_grace_s

    def open_channel(self, directory: Path, watches: inotify.Watches) -> None:
        """Take files, too. What makes that impossible is logged and costs the run nothing."""
        name, resumed = self._session.record.name, self._session.resumed
        try:
            self.channel = Channel(directory, watches=watches, inbox=self, anew=not resumed)
        except ConfigurationError as error:
            log.warning("`%s` has no channel: %s", name, error)
            return
        if resumed:
            self.channel.refuse("_stop.txt", "it was meant for a run that was over")
            self.channel.look()

    def take(self, note: Intervention, *, now: bool = False) -> None:
        """Queue a note. A redirect goes in at once with `now`, or where no step would come."""
        kind, run = note.kind, self._session.run
        self.queue.put(note)
        # one that only waits for its background tasks comes to no step
        at_once = run is not None and kind == "redirect" and (now or run.idles)
        if run is not None and at_once and run.can_redirect():
            prompt = self.queue.everything()
            if prompt is not None:
                run.redirect(prompt)
        if run is not None and kind == "stop":
            run.stop_later(self._stop_grace_s)
        log.info("`%s`: %s %s is queued", self._session.record.name, kind, note.id)
        if self.channel is not None:
            self.channel.output.tell(f"owner: {kind} {note.id} is queued")

    def put(self, kind: InterventionKind, text: str, id: str) -> None:
        """Queue what a file says."""
        self.take(Intervention(kind=kind, text=text, id=id))

    def has_room(self, kind: InterventionKind, size: int) -> bool:
        """Whether a text of `size` bytes may come now."""
        return self.queue.has_room(kind, size)

    @property
    def followers(self) -> Sequence[Follower]:
        """The channel's `output.txt` and the queue; one that fails does not cost the other."""
        return (self.queue.hear,) if self.channel is None else (self.channel.hear, self.queue.hear)

    @property
    def stop_reason(self) -> str | None:
        """The reason of the first stop."""
        return self.queue.stop_reason

    @property
    def halted(self) -> bool:
        """Whether claude was answered with a halt."""
        return self.queue.halted

    def at_step(self, known_as: str) -> Steer | None:
        """What waits, the files of the channel included."""
        self._attend()
        return self.queue.at_step(known_as)

    def at_end(self, known_as: str) -> Prompt | Halt | None:
        """What makes the agent go on or stop, the files of the channel included."""
        self._attend()
        return self.queue.at_end(known_as)

    def before(self, prompt: str) -> Prompt:
        """The next prompt, with what waits before it."""
        return self.queue.before(prompt)

    def hush(self) -> None:
        """The turn is being cut: hand over nothing more."""
        self.queue.hush()

    def pending(self) -> Sequence[PendingIntervention]:
        """What has not arrived yet, oldest first."""
        return self.queue.pending()

    def leave(self, *, stopped: bool = False) -> tuple[Undelivered, ...]:
        """Close queue and channel; what did not arrive. May be called again."""
        ends = not self.queue.over
        undelivered = self.queue.leave(stopped=stopped)
        if ends and self.channel is not None:
            try:
                self.channel.output.tell("the run is over")
                self.channel.close()
            except OSError as error:  # what is only tidied up must not cost the run its ending
                name = self._session.record.name
                log.warning("`%s`: its channel is not tidied up: %s", name, error)
        return undelivered

    def _attend(self) -> None:
        if self.channel is not None:
            self.channel.attend()
