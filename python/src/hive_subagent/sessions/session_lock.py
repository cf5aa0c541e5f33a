"""The lock on a session's transcript, and the archive of a finished session."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path

import anyio

from hive_subagent.claude import transcripts
from hive_subagent.claude.conversation import Conversation
from hive_subagent.claude.outcome import words
from hive_subagent.claude.process import RunningClaude
from hive_subagent.claude.session_lock import TranscriptLock, live_holder, live_holder_of_title
from hive_subagent.errors import Refused, SubagentError
from hive_subagent.messages import refusals
from hive_subagent.sessions.launch import Launch
from hive_subagent.sessions.store import SessionRecord, SessionStore
from hive_subagent.sessions.view import ended_view
from hive_subagent.system.private_files import reason_of

log = logging.getLogger(__name__)

SETTLING_PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds between two looks for a new session's transcript."""


def take_lock(
    config_dir: Path, record: SessionRecord, *, ignore_pids: Collection[int] = ()
) -> TranscriptLock | None:
    """The lock on a session's transcript; None where there is none yet.

    Raises Refused when another process has the session open.
    """
    holder = live_holder(config_dir, record.session_id, ignore_pids=ignore_pids)
    if holder is not None:
        raise Refused(
            refusals.open_elsewhere(name=record.name, session_id=record.session_id, holder=holder),
            kind="conflict",
            name=record.name,
        )
    found = transcripts.find(config_dir, record.dir, record.session_id)
    return TranscriptLock(found) if found else None


def refuse_if_title_is_open(config_dir: Path, title: str, directory: Path) -> None:
    """Raise Refused when a living claude has a session of that title open."""
    holder = live_holder_of_title(config_dir, title, directory)
    if holder is not None:
        raise Refused(
            refusals.open_elsewhere(name=title, session_id=None, holder=holder),
            kind="conflict",
            name=title,
        )


def refuse_if_an_id_of_ours(records: SessionStore, name: str) -> None:
    """Raise Refused when a name is the id of a session of ours: claude would resume it as a title.

    It would go on without its record, and so without its brief and its ceiling.
    """
    try:
        is_ours = records.holds(name)
    except OSError as error:
        raise Refused(
            refusals.id_not_looked_up(name, reason_of(error)), kind="unavailable", name=name
        ) from None
    if is_ours:
        raise Refused(refusals.is_an_id(name), name=name)


def missed(
    launch: Launch, conversation: Conversation, config_dir: Path, *, near: Callable[[str], str]
) -> str | None:
    """The refusal of a resumed session where claude had none like that, or several; else None.

    `near` names known sessions that may have been meant.
    """
    record, result = launch.record, conversation.last_result
    if launch.resume is None or conversation.begun or result is None:
        return None
    return refusals.missed(
        name=record.name,
        words=words(result) or "no reason given",
        config_dir=str(config_dir),
        directory=record.dir,
        before=ended_view(record) if record.ours else None,
        near="" if record.ours else near(record.name),
    )


def identified(record: SessionRecord, conversation: Conversation) -> SessionRecord | None:
    """The record with the id of a session that claude was asked for by its title.

    None where the id is known already, or claude has not reported it.
    """
    session_id = conversation.session_id
    if record.session_id or not session_id or not transcripts.is_session_id(session_id):
        return None
    return record.model_copy(update={"session_id": session_id})


async def until_settled(name: str, claude: RunningClaude, settle: Callable[[], bool]) -> None:
    """Call `settle` with pauses until it returns true, for what a first event comes too early.

    Claude makes a new transcript some 10 ms after its first lines (measured with 2.1.197).
    """
    await claude.until(lambda: claude.conversation.begun)
    for pause_s in SETTLING_PAUSES_S:
        # once it is over nobody may be left to release a lock
        if claude.over:
            return
        try:
            if settle():
                return
        except SubagentError as error:
            log.warning("`%s`: %s", name, error)
        except Exception:  # a lock that is not there must cost neither the run nor the daemon
            log.exception("settling in the session of `%s` broke", name)
            return
        # not its next line: a claude whose API hangs prints nothing after its init
        with anyio.move_on_after(pause_s):
            await claude.exited()


def archive(config_dir: Path, predecessor: SessionRecord | None, records: SessionStore) -> int:
    """Archive a finished namesake that we started; how many transcripts that were."""
    if predecessor is None or not predecessor.ours:
        return 0
    found = transcripts.find(config_dir, predecessor.dir, predecessor.session_id)
    try:
        if found is not None:
            transcripts.archive(found)
    except Refused as error:
        log.warning("%s", error)
        return 0
    records.forget(predecessor.session_id)
    return int(found is not None)


def put_away(config_dir: Path, record: SessionRecord) -> None:
    """Archive the transcript of a session whose record is not kept, where that held a ceiling.

    Claude would find it by its title, and without a record it would go on without the ceiling.
    """
    if record.permissions is None:
        return
    try:
        found = transcripts.find(config_dir, record.dir, record.session_id)
        if found is not None:
            transcripts.archive(found)
    except (OSError, Refused) as error:
        log.error("`%s`: its transcript cannot be put away: %s", record.name, error)
