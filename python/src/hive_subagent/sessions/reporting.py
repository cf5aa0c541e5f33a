"""Reports an ending: to the report files, and once to the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hive_subagent.errors import Refused, SubagentError
from hive_subagent.messages.sessions import ended
from hive_subagent.models.notices import Notice
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.sessions.ending import notice_kind
from hive_subagent.sessions.store import SessionRecord, SessionStore
from hive_subagent.sessions.view import ended_view
from hive_subagent.system.blocking import in_thread
from hive_subagent.system.report_files import append_report
from hive_subagent.system.sanitize import excerpt, on_lines


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
