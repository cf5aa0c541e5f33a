"""Changes of the outbox that the disk has refused: kept in memory, and tried again until taken."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import anyio

from hive_subagent.models.notices import Notice
from hive_subagent.outbox.entries import NewerVersion, Owed
from hive_subagent.outbox.owed_files import OwedFiles

logger = logging.getLogger(__name__)


class Backlog:
    """Changes to the files of what is owed, each tried at once. No method but `run` waits.

    `taken` names the sinks of this daemon that have a notice.
    """

    def __init__(self, files: OwedFiles, taken: Callable[[str], set[str]]) -> None:
        self._files = files
        self._taken = taken
        self._unsaved: dict[str, Owed] = {}
        self._cut: set[str] = set()
        self._to_note: set[str] = set()
        self._to_remove: set[str] = set()
        self._trouble = anyio.Event()

    @property
    def unsaved(self) -> int:
        """How many notices are held in memory only."""
        return len(self._unsaved)

    def holds(self, run_id: str) -> bool:
        """Whether something about a run is still to be written."""
        return run_id in self._unsaved or run_id in self._to_note or run_id in self._to_remove

    def notice(self, run_id: str) -> Notice | None:
        """A notice that is held here."""
        return self._unsaved[run_id].notice if run_id in self._unsaved else None

    def save(self, run_id: str, owed: Owed, *, cut: bool) -> None:
        """Write a notice into a file of its own; `cut`: a shorter form of it is on the disk."""
        self._unsaved[run_id] = owed
        if cut:
            self._cut.add(run_id)
        if not self._save(run_id):
            logger.error("notice %s is held in memory only, for now", run_id)
            self._trouble.set()

    def ending_kept(self, run_id: str) -> None:
        """A notice that is held here need not be written with its ending any more."""
        if run_id in self._unsaved:
            self._unsaved[run_id] = replace(self._unsaved[run_id], ending=None)

    def note(self, run_id: str) -> None:
        """Write down which sinks have a notice."""
        if run_id in self._unsaved:  # that is written with it
            self._save(run_id)
            return
        try:
            owed = self._files.read(run_id)
            if isinstance(owed, Owed):
                accepted = owed.accepted | self._taken(run_id)
                self._files.rewrite(replace(owed, accepted=accepted), durable=False)
        except OSError as error:
            reason = error.strerror
            logger.error("notice %s: who has it cannot be kept, trying again: %s", run_id, reason)
            self._to_note.add(run_id)
            self._trouble.set()
        except NewerVersion:
            self._to_note.discard(run_id)
        else:
            self._to_note.discard(run_id)

    def remove(self, run_id: str, *, durable: bool = False) -> None:
        """Remove the file of a run; nothing else about it is to be written any more."""
        self._unsaved.pop(run_id, None)
        self._to_note.discard(run_id)
        self._cut.discard(run_id)
        try:
            self._files.remove(run_id, durable=durable)
        except OSError as error:
            reason = error.strerror
            logger.error("owed notice %s cannot be removed, trying again: %s", run_id, reason)
            self._to_remove.add(run_id)
            self._trouble.set()
        else:
            self._to_remove.discard(run_id)

    def forget(self, run_id: str) -> None:
        """A new promise is about to be written where the file of a run was."""
        self._to_remove.discard(run_id)

    async def run(self, first_pause_s: float, longest_pause_s: float) -> None:
        """Try again what was refused, with pauses that double, until cancelled."""
        while True:
            await self._trouble.wait()
            pause_s = first_pause_s
            while self.retry():
                await anyio.sleep(pause_s)
                pause_s = min(pause_s * 2, longest_pause_s)
            self._trouble = anyio.Event()

    def retry(self) -> int:
        """Try once; how much is left."""
        for run_id in list(self._unsaved):
            if self._save(run_id):
                logger.info("notice %s is on the disk now", run_id)
        for run_id in list(self._to_remove):
            self.remove(run_id, durable=True)
        for run_id in list(self._to_note):
            self.note(run_id)
        return len(self._unsaved) + len(self._to_remove) + len(self._to_note)

    def report(self) -> None:
        """Say in the log what ends with this process, since the disk has not taken it."""
        for run_id, owed in self._unsaved.items():
            what = "is kept only in part" if run_id in self._cut else "is lost with this daemon"
            logger.error(
                "notice %s (`%s`: %s) was held in memory and %s",
                run_id,
                owed.notice.name,
                owed.notice.kind,
                what,
            )

    def _save(self, run_id: str) -> bool:
        owed = self._unsaved[run_id]
        owed = replace(owed, accepted=owed.accepted | self._taken(run_id))
        try:
            self._files.rewrite(owed, durable=True)
        except OSError:
            return False
        del self._unsaved[run_id]
        self._cut.discard(run_id)
        return True
