"""Reports the runs that an earlier daemon left unfinished."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
from pydantic import ValidationError

from hive_subagent.messages import sessions
from hive_subagent.models.session import Cause
from hive_subagent.outbox.entries import Owed, Unfinished
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.sessions.ending import Ending, Killed, ending_without_result
from hive_subagent.sessions.pending_interventions import settled
from hive_subagent.sessions.reporting import keep_ending, report
from hive_subagent.sessions.store import SessionRecord, SessionStore, Unreadable

IDLE_S = 2.0
"""Seconds between two looks at whether something is to be tried again, and the first pause then."""

LONGEST_PAUSE_S = 60.0

_Left = TypeVar("_Left", Unfinished, Owed)

log = logging.getLogger(__name__)


@dataclass
class Recovery:
    """Settles each run that was promised a notice and died with its daemon: killed.

    `others` fulfils what was promised for something else than a run. What cannot be read now is
    tried again by `run`, and nothing is reported of it before.
    """

    records: SessionStore
    outbox: Outbox
    config_dir: Path
    others: Callable[[Unfinished], None]
    _unsettled: list[Unfinished] = field(default_factory=list)
    _endings: list[Owed] = field(default_factory=list)

    async def attempt(self) -> bool:
        """Settle what can be read now; whether that was everything."""
        left = [*self._unsettled, *self.outbox.load_unfinished()]
        self._unsettled = [each for each in left if not await self._tried(self._settle, each)]
        endings = [*self._endings, *self.outbox.endings_found()]
        self._endings = [each for each in endings if not await self._tried(self._take_over, each)]
        return self.outbox.complete and not self._unsettled and not self._endings

    @property
    def counts(self) -> dict[str, int]:
        """What is not as it should be on the disk, for `Health`."""
        return {
            "notices_waiting": self.outbox.pending,
            "unsaved": self.outbox.unsaved + self.records.unsaved,
            "unread": self.outbox.unread,
            "set_aside": self.outbox.set_aside,
        }

    async def run(self) -> None:
        """Try again what could not be read or saved, with pauses that double, until cancelled."""
        pause_s = IDLE_S
        while True:
            await anyio.sleep(pause_s)
            read, left = await self.attempt(), self.records.retry()
            pause_s = IDLE_S if read and not left else min(pause_s * 2, LONGEST_PAUSE_S)

    async def _tried(self, fulfil: Callable[[_Left], Awaitable[None]], each: _Left) -> bool:
        try:
            await fulfil(each)
        except Unreadable as error:
            log.error("what an earlier daemon left waits: %s", error)
            return False
        return True

    async def _settle(self, left: Unfinished) -> None:
        """Raises Unreadable for a record that cannot be read now."""
        if "delegation" in left.payload:
            self.others(left)
            return
        name = str(left.payload.get("name"))
        session_id = str(left.payload.get("session_id"))
        words = []
        try:
            record = self.records.by_name(name)
        except Unreadable as error:
            if error.now:
                raise
            record, words = None, [f"{error}."]
        known = record is not None and record.session_id == session_id
        if record is None or not known:
            record = SessionRecord(name=name, session_id=session_id, dir="", ours=False)
        record, missed = settled(self.config_dir, record)
        words += [sessions.undelivered(note) for note in missed]
        if record.ending is not None and record.ending.run_id == left.run_id:
            # it had ended by itself; only its report was cut short
            await report(record, self.outbox, further_words=words)
            self.outbox.ending_kept(left.run_id)
            return
        # a run since then has an ending of its own, which is the later one
        later = record.ending is not None and record.ending.at > left.at > ""
        ending = ending_without_result(
            Killed(cause=Cause.DAEMON_STOP),
            run_id=left.run_id,
            max_turns=(record.max_turns or 1) if record.goal else 1,
            cost_total=record.ending.cost_total if record.ending else None,
        )
        record = record.with_ending(ending)
        log.warning("run %s of `%s` died with the daemon before this one", left.run_id, name)
        # saved first: while a report file is written, another run of the session can begin
        saved = not known or later or keep_ending(record, self.records, self.outbox)
        await report(record, self.outbox, further_words=words)
        if saved:
            self.outbox.ending_kept(left.run_id)

    async def _take_over(self, owed: Owed) -> None:
        """See that a session's record holds the ending that was kept with its notice.

        Raises Unreadable for a record that cannot be read now.
        """
        run_id = owed.notice.id
        saved = partial(self.outbox.ending_kept, run_id)
        try:
            ending = Ending.model_validate(owed.ending)
            record = self.records.by_name(owed.notice.name)
        except ValidationError as error:
            log.error("the ending of run %s makes no sense: %s", run_id, error.errors()[0]["msg"])
            saved()
            return
        except Unreadable as error:
            if error.now:
                raise
            log.error("the ending of run %s stays with its notice: %s", run_id, error)
            return
        if (
            record is None
            or record.session_id != owed.notice.session_id
            or (record.ending is not None and record.ending.at >= ending.at)
        ):
            saved()
        else:
            self.records.keep(record.with_ending(ending), saved)
