"""Reports a run: its beginning and its end as events, its ending to report files and the outbox."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hive_subagent.claude.background import Background
from hive_subagent.claude.process import RunningClaude
from hive_subagent.claude.stream import Batch
from hive_subagent.errors import Refused, SubagentError
from hive_subagent.messages.sessions import ended
from hive_subagent.models.events import BackgroundChanged, TurnBegan
from hive_subagent.models.notices import Notice, RunEvent
from hive_subagent.outbox.event_feed import EventFeed
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.sessions.ending import notice_kind, now
from hive_subagent.sessions.lifecycle import LiveSession
from hive_subagent.sessions.store import SessionRecord, SessionStore
from hive_subagent.sessions.view import ended_view
from hive_subagent.system.blocking import in_thread
from hive_subagent.system.report_files import append_report
from hive_subagent.system.sanitize import excerpt, on_lines

log = logging.getLogger(__name__)


def promise(record: SessionRecord, run_id: str, records: SessionStore, outbox: Outbox) -> None:
    """Promise the notice of a run, unless its delegation has done so, and save its session.

    Raises SubagentError when the disk does not take it, and then nothing is promised.
    """
    if record.delegation is None:
        outbox.promise(run_id, {"name": record.name, "session_id": record.session_id})
    try:
        records.save(record)
    except SubagentError:
        outbox.cancel(run_id)
        raise


async def report(
    record: SessionRecord,
    outbox: Outbox,
    further_reports: Sequence[str] = (),
    further_words: Sequence[str] = (),
) -> None:
    """Write the ending of `record` to its report files and hand its notice to the outbox.

    `further_reports` are those that the subagent named: only in its own directory. The notice is
    kept together with the ending until that is in the record: see `keep_ending`. Report files are
    written in a thread, under a limit: their file system may never answer.
    """
    text, reports = _text(record, further_words), _reports(record, further_reports)
    problems: Sequence[str] = ()
    if reports:
        try:
            what = f"report file {', '.join(excerpt(report) for report in reports)}"
            problems = await in_thread(_write, record, text, reports, what=what)
        except Refused as error:
            problems = [f"{error} (it may be written later, or not at all)"]
    _settle(record, outbox, text, reports, problems)


def _text(record: SessionRecord, further_words: Sequence[str]) -> str:
    # it is made to be shown, and holds a subagent's words
    return on_lines("\n\n".join([ended(ended_view(record)), *further_words]))


def _reports(record: SessionRecord, further: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(r for r in (record.report_file, *further) if r))


def _write(record: SessionRecord, text: str, reports: Sequence[str]) -> list[str]:
    """Append to each report file; what could not be written, a line each."""
    ending = record.ending
    assert ending is not None
    home = Path(record.dir)
    problems = (
        append_report(
            Path(report),
            f"{ending.at} {text}\n",
            beneath=None if report == record.report_file else home,
        )
        for report in reports
    )
    return [problem for problem in problems if problem]


def _settle(
    record: SessionRecord,
    outbox: Outbox,
    text: str,
    reports: Sequence[str],
    problems: Sequence[str],
) -> None:
    ending = record.ending
    assert ending is not None
    outbox.fulfil(
        ending.run_id,
        Notice(
            id=ending.run_id,
            name=record.name,
            session_id=record.session_id,
            kind=notice_kind(ending.reason),
            text="\n\n".join([text, *problems]),
            report_file=next(iter(reports), None),
            result_file=ending.result_file,
            at=ending.at,
        ),
        ending.model_dump(mode="json"),
    )


def keep_ending(record: SessionRecord, records: SessionStore, outbox: Outbox) -> bool:
    """Save how the session ended, now or as soon as the disk takes it; whether it is saved.

    Until then the file of its notice, if it has one of its own, holds the ending.
    """
    ending = record.ending
    assert ending is not None
    return records.keep(record, partial(outbox.ending_kept, ending.run_id))


def started(record: SessionRecord, run_id: str) -> RunEvent:
    """Its own work begins now."""
    return RunEvent(
        event="subagent_started",
        id=run_id,
        name=record.name,
        session_id=record.session_id,
        dir=record.dir,
        role=record.role,
        delegation=record.delegation,
        at=now(),
    )


class Changes:
    """Publishes what changes in a run between its beginning and its end."""

    def __init__(self, run_id: str, session: LiveSession, events: EventFeed) -> None:
        self._run_id = run_id
        self._session = session
        self._events = events
        self._turn = 1
        self._background: set[str] = set()

    def follow(self, claude: RunningClaude) -> None:
        """Look after each batch of lines that claude prints."""

        def look(batch: Batch) -> None:
            self._events.count_bytes(batch.size)
            self._look(claude.conversation.background)

        claude.conversation.stream.follow(look)

    def _look(self, background: Background) -> None:
        run, record = self._session.run, self._session.record
        if run is not None and run.turn != self._turn:
            self._turn = run.turn
            self._events.publish(
                TurnBegan(
                    id=self._run_id,
                    name=record.name,
                    session_id=record.session_id,
                    turn=run.turn,
                    max_turns=run.order.max_turns,
                    at=now(),
                )
            )
        if background.open.keys() != self._background:
            self._background = set(background.open)
            self._events.publish(
                BackgroundChanged(
                    id=self._run_id,
                    name=record.name,
                    session_id=record.session_id,
                    background=background.shown(),
                    at=now(),
                )
            )


async def warn_of_missing_servers(name: str, claude: RunningClaude) -> None:
    """Once claude has said it, log which MCP servers the run has to do without."""
    await claude.until(lambda: claude.conversation.mcp is not None)
    for server in claude.conversation.mcp.not_connected if claude.conversation.mcp else ():
        log.warning(
            "`%s`: MCP server %s did not connect: %s",
            name,
            server.name,
            server.status,
        )


def finished(record: SessionRecord, began_at: float | None) -> RunEvent:
    """It has ended, as its record says; `began_at` is on the monotonic clock."""
    ending = record.ending
    assert ending is not None
    return started(record, ending.run_id).model_copy(
        update={
            "event": "subagent_finished",
            "at": ending.at,
            "state": ending.state,
            "stop_reason": ending.stop_reason,
            "cause": ending.cause,
            "signal": ending.signal,
            "cost_usd": ending.cost_usd,
            "duration_s": None if began_at is None else round(time.monotonic() - began_at, 3),
        }
    )
