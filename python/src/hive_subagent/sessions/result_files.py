"""Whole answers, each in a file of its own: tools and notices cut them at 8,000 bytes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anyio import to_thread

from hive_subagent.claude.write_rules import has_write_rule, writes_anywhere
from hive_subagent.errors import Refused, SubagentError
from hive_subagent.messages.sessions import reports_left
from hive_subagent.messages.text import fit
from hive_subagent.sessions.finish import Finish
from hive_subagent.sessions.launch import permissions_of
from hive_subagent.sessions.order import Signals
from hive_subagent.sessions.store import SessionRecord, SessionStore
from hive_subagent.settings import Settings
from hive_subagent.system.blocking import in_thread

log = logging.getLogger(__name__)

FILE_LIMIT = 64 * 1024 * 1024
"""Bytes of answers that a file holds: as much as one line of claude can."""

_CUT = b"\n\n[cut here: the answers are larger than a result file may be]\n"


@dataclass(frozen=True)
class ResultFile:
    """Where the answers of a run are kept; `problem` says why they are not, in one line."""

    path: str | None = None
    problem: str | None = None


async def keep_answers(
    records: SessionStore, session_id: str, run_id: str, finish: Finish
) -> ResultFile:
    """Write the answers of a run's last turn, in order, into a private file (0600) of its own.

    It lies beside the session's record and goes with it. Never raises: an answer that cannot be
    kept in a file is still reported, as far as answers and notices carry it.
    """
    said = [answer.text for answer in finish.answers if answer.text.strip()]
    if not said or not session_id:
        return ResultFile()
    try:
        # an answer can have many megabytes, and the disk can be slow
        path = await to_thread.run_sync(_write, records, session_id, run_id, said)
    except (SubagentError, OSError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        log.error("the answer of run %s is not kept in a file: %s", run_id, reason)
        return ResultFile(problem=f"The whole answer could not be kept in a file: {reason}.")
    return ResultFile(path=str(path))


def _write(records: SessionStore, session_id: str, run_id: str, answers: Sequence[str]) -> Path:
    return records.save_result(session_id, run_id, content_of(answers))


def content_of(answers: Sequence[str], *, limit: int = FILE_LIMIT) -> bytes:
    """The bytes of a result file: valid UTF-8, at most `limit`, with a mark where it is cut.

    Half a surrogate pair, which a model can print, is replaced.
    """
    whole = "\n\n".join(answers)
    end = "" if whole.endswith("\n") else "\n"
    # cut first, so that no copy is larger than need be: a character has one byte at least
    data = f"{fit(whole[:limit], limit=4 * limit)}{end}".encode()
    if len(whole) <= limit and len(data) <= limit:
        return data
    return data[: limit - len(_CUT)].decode("utf-8", "ignore").encode() + _CUT


async def reports_of(
    record: SessionRecord, signals: Signals, settings: Settings
) -> tuple[Sequence[str], Sequence[str]]:
    """The report files that a subagent named, and a sentence where it may not write them itself.

    The daemon writes nothing for it then.
    """
    named = signals.report_files
    if not named or await _may_write(record, settings):
        return named, ()
    return (), (reports_left(named),)


async def _may_write(record: SessionRecord, settings: Settings) -> bool:
    """Whether a subagent may write into files of its choice.

    Not where any rule on a tool that writes exists: only claude knows which files it is about.
    """
    allowed = permissions_of(record, settings)
    sources = "" if allowed.confined else settings.setting_sources
    if not writes_anywhere(allowed):
        return False
    look = partial(has_write_rule, settings.claude_config_dir, Path(record.dir), sources)
    try:
        return not await in_thread(look, what=f"claude's settings in {record.dir}")
    except Refused:
        return False
