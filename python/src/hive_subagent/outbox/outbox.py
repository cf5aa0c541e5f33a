"""What is owed: exactly one notice per run that was answered well, delivered whatever happens.

One file per run in `state_dir/owed/`. It begins as a promise when the call is answered, with room
for the notice reserved on the disk. It becomes the notice when the run ends, before any sink gets
it. It is removed when every sink has taken that and the session's record holds the ending. So a
crash leaves either a run to report as killed or a notice to deliver. A sink that took a notice in
the instant before a crash may be handed it again: under the same id.

Promise, notice, and the removal of a promise are flushed to the disk, since they must survive a
power failure. Which sinks have a notice, and its removal, are not: at worst it is delivered again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio

from hive_subagent.errors import Refused
from hive_subagent.models.notices import Notice
from hive_subagent.models.replies import NoticeList
from hive_subagent.outbox.backlog import Backlog
from hive_subagent.outbox.delivery import FIRST_PAUSE_S, LONGEST_PAUSE_S, Deliveries
from hive_subagent.outbox.entries import NewerVersion, Owed, Unfinished
from hive_subagent.outbox.event_feed import EventFeed
from hive_subagent.outbox.owed_files import ROOM, Journal, OwedFiles, append_owed
from hive_subagent.outbox.recent import RecentNotices
from hive_subagent.outbox.sinks import Sink
from hive_subagent.system.private_files import reason_of

logger = logging.getLogger(__name__)


class Outbox:
    """The notices of one state directory and the sinks they go to.

    `promise`, `fulfil` and `cancel` write before they return and never wait, so no cancellation can
    come between a run's end and its record. What the disk refuses after that is kept in memory and
    tried again by `run`. Start it as: `load_unfinished`, `fulfil` those, `run`. Stop it as:
    `drain`, then cancel `run`, then `report_unsaved`.
    """

    def __init__(
        self,
        state_dir: Path,
        sinks: Sequence[Sink],
        *,
        identity: str = "",
        events: EventFeed | None = None,
        first_pause_s: float = FIRST_PAUSE_S,
        longest_pause_s: float = LONGEST_PAUSE_S,
    ) -> None:
        """`identity`: that of `state_dir`. Raises ConfigurationError when `owed` cannot be ours."""
        self._files = OwedFiles(state_dir, identity=identity)
        self.recent = RecentNotices(events)
        self._pauses_s = (first_pause_s, longest_pause_s)
        self._running: dict[str, Journal | None] = {}
        self._backlog = Backlog(self._files, self._taken)
        # runs whose ending only their file here is known to hold
        self._endings: set[str] = set()
        self._unread: set[str] = set()
        self._newer: set[str] = set()
        self._listed = False
        self._found: list[Owed] = []
        self.deliveries = Deliveries(
            sinks, read=self._read_notice, accepted=self._note_accepted, pauses_s=self._pauses_s
        )

    @property
    def pending(self) -> int:
        """How many notices at least one sink has not taken yet."""
        return self.deliveries.pending

    def notices(self) -> NoticeList:
        """Those that are owed, and the last that were delivered."""
        return self.recent.listed(self.deliveries.waiting, self._read_notice)

    @property
    def set_aside(self) -> int:
        """How many files made no sense and are kept as `.broken`."""
        return self._files.set_aside

    @property
    def unread(self) -> int:
        """How many files are kept, and cannot be read now or by this version."""
        return len(self._unread) + len(self._newer)

    @property
    def unsaved(self) -> int:
        """How many notices are held in memory only, since the disk did not take them."""
        return self._backlog.unsaved

    @property
    def complete(self) -> bool:
        """Whether everything that an earlier daemon left has been read."""
        return self._listed and not self._unread

    def promise(self, run_id: str, payload: Mapping[str, Any], *, room: int = ROOM) -> None:
        """Promise one notice for this run; `payload` (JSON) comes back after a crash.

        Call it just before the caller is answered well; again, it replaces the payload. `room`:
        bytes to reserve for the notice. Raises Refused when the promise cannot be kept on disk,
        ValueError for an id that is no file name.
        """
        before = self._running.get(run_id)
        try:
            try:
                journal = self._files.promise(run_id, payload, room=room)
            except OSError:
                if before is None:
                    raise
                before.append(self._files.promised(payload))
                return
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            self._files.sync()
        except OSError as error:
            if before is None:
                # it is there, and the next daemon would report it after a crash
                journal.close()
                self._backlog.remove(run_id)
                raise self._unwritable(error) from None
            logger.warning("%s is not flushed: %s", self._files.folder, error.strerror)
        if before is not None:
            before.close()
        self._running[run_id] = journal
        self._backlog.forget(run_id)

    def _unwritable(self, error: OSError) -> Refused:
        return Refused(
            f"{self._files.folder} cannot be written: {reason_of(error)};"
            " make room or make it writable for the daemon",
            kind="failed",
            path=self._files.folder,
        )

    def cancel(self, run_id: str) -> None:
        """Forget a promise: the call was answered with an error after all."""
        if run_id in self._running:
            self._close(run_id)
            self._backlog.remove(run_id, durable=True)

    def fulfil(self, run_id: str, notice: Notice, ending: Mapping[str, Any] | None = None) -> bool:
        """The run ended: keep its notice (whose id is `run_id`), then deliver it in the background.

        `ending` (JSON) is kept with it until `ending_kept`, and comes back from `endings_found`
        after a crash. False, and nothing is done, for a run that is not owed: never promised,
        cancelled, fulfilled.
        """
        if notice.id != run_id:
            raise ValueError(f"notice {notice.id!r} is not the one of run {run_id!r}")
        if run_id not in self._running:
            return False
        owed = Owed(notice=notice, ending=None if ending is None else dict(ending))
        if ending is not None:
            self._endings.add(run_id)
        if self.deliveries or ending is not None:
            self._keep(run_id, owed)
        self._close(run_id)
        if self.deliveries:
            self.recent.owed(notice)
        self.deliveries.add(notice)
        self._release(run_id)
        return True

    def ending_kept(self, run_id: str) -> None:
        """The session's record holds the ending of this run now."""
        if run_id in self._endings:
            self._endings.discard(run_id)
            self._backlog.ending_kept(run_id)
            self._release(run_id)

    def load_unfinished(self) -> list[Unfinished]:
        """Take up what an earlier daemon left, with `state_dir` locked.

        Undelivered notices are queued; returned are the runs still marked running, to be fulfilled.
        A file that makes no sense is renamed to `.broken` and reported in the log. One that cannot
        be read now stays: call this again while `complete` is false, for what was found since.
        """
        try:
            wanted = sorted(self._unread) if self._listed else self._files.listed()
        except OSError as error:
            logger.error("%s cannot be read, trying again: %s", self._files.folder, error.strerror)
            return []
        self._listed = True
        unfinished = []
        for run_id in wanted:
            if self._waits(run_id) or run_id in self._running or self._backlog.holds(run_id):
                continue
            entry = self._take_up(run_id)
            if isinstance(entry, Unfinished):
                self._running[run_id] = None
                unfinished.append(entry)
            elif entry is not None:
                self._queue(entry)
        return unfinished

    def endings_found(self) -> list[Owed]:
        """The notices with an ending that were found since the last call; see `ending_kept`."""
        found, self._found = self._found, []
        return found

    async def run(self) -> None:
        """Deliver until cancelled: one task per sink, however many notices wait."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.deliveries.run)
            tasks.start_soon(self._backlog.run, *self._pauses_s)

    async def drain(self, timeout_s: float) -> None:
        """Try everything that waits once more, pauses or not, for at most `timeout_s` seconds."""
        self._backlog.retry()
        with anyio.move_on_after(timeout_s):
            await self.deliveries.drain()
        self._backlog.retry()

    def report_unsaved(self) -> None:
        """Say in the log what ends with this process, since the disk has not taken it."""
        self._backlog.report()

    def _keep(self, run_id: str, owed: Owed) -> None:
        """Put the notice where the promise is; in memory, and tried again, where that fails."""
        kept = "nothing"
        with suppress(OSError):
            journal = self._running[run_id] or self._files.reopen(run_id)
            self._running[run_id] = journal
            kept = append_owed(journal, owed)
        if kept != "whole":
            self._backlog.save(run_id, owed, cut=kept == "cut")

    def _close(self, run_id: str) -> None:
        journal = self._running.pop(run_id)
        if journal is not None:
            with suppress(OSError):  # all in it has been flushed
                journal.close()

    def _take_up(self, run_id: str) -> Unfinished | Owed | None:
        self._unread.discard(run_id)
        try:
            return self._files.read(run_id)
        except NewerVersion as error:
            logger.error("notice %s is %s; it stays as it is", run_id, error)
            self._newer.add(run_id)
        except OSError as error:
            logger.error("notice %s cannot be read, trying again: %s", run_id, error.strerror)
            self._unread.add(run_id)
        return None

    def _waits(self, run_id: str) -> bool:
        return self.deliveries.waits(run_id)

    def _queue(self, owed: Owed) -> None:
        run_id = owed.notice.id
        if owed.ending is not None:
            self._found.append(owed)
        if not self.deliveries:
            return  # it waits for a daemon that has sinks
        if owed.ending is not None:
            self._endings.add(run_id)
        self.recent.owed(owed.notice)
        self.deliveries.add(owed.notice, accepted=owed.accepted)
        self._release(run_id)

    def _read_notice(self, run_id: str) -> Notice | None:
        """Raises OSError when it cannot be read now."""
        if (held := self._backlog.notice(run_id)) is not None:
            return held
        try:
            entry = self._files.read(run_id)
        except NewerVersion:  # somebody replaced it
            return None
        if isinstance(entry, Owed):
            return entry.notice
        self._endings.discard(run_id)
        return None

    def _taken(self, run_id: str) -> set[str]:
        """The sinks of this daemon that have the notice."""
        return {key for key, ids in self.deliveries.waiting.items() if run_id not in ids}

    def _note_accepted(self, sink: str, run_id: str) -> None:
        """Remember which sinks have it; the last one to take it removes the file."""
        self.recent.taken(run_id, sink)
        if not self._waits(run_id):
            self.recent.delivered(run_id, self._read_notice)
        if not self._release(run_id):
            self._backlog.note(run_id)

    def _release(self, run_id: str) -> bool:
        """Remove the file of a run once nobody needs it any more; whether that is so."""
        if self._waits(run_id) or run_id in self._endings:
            return False
        self._backlog.remove(run_id)
        return True
