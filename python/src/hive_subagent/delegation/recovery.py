"""Reports the delegation that an earlier daemon left unfinished."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from hive_subagent.claude import transcripts
from hive_subagent.delegation.notice import EndedChild, notice
from hive_subagent.messages import sessions
from hive_subagent.models.session import Cause, Frozen, WaitPolicy
from hive_subagent.outbox.entries import Unfinished
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.sessions.ending import Killed, ending_without_result, now
from hive_subagent.sessions.pending_interventions import settled
from hive_subagent.sessions.reporting import keep_ending
from hive_subagent.sessions.session_lock import put_away
from hive_subagent.sessions.store import SessionRecord, SessionStore, Unreadable

log = logging.getLogger(__name__)


class Kept(Frozen):
    """The payload of the promise of a delegation's notice: its children as they stood."""

    policy: WaitPolicy
    children: list[SessionRecord]


def recover_delegation(
    one: Unfinished, *, records: SessionStore, outbox: Outbox, config_dir: Path
) -> None:
    """Settle a delegation that died with its daemon: killed, with what had ended before.

    Raises Unreadable for the record of a child that cannot be read now; nothing is done then.
    """
    name = str(one.payload.get("name"))
    try:
        kept = Kept.model_validate(one.payload.get(KIND))
    except ValidationError as error:
        log.error("what delegation %s had done cannot be read: %s", name, error.errors()[0])
        kept = Kept(policy="all", children=[])
    found = [_found(record, records) for record in kept.children]
    children = [
        _child(name, record, each, records, outbox, config_dir)
        for record, each in zip(kept.children, found, strict=True)
    ]
    whole = bool(children) and all(child.by_itself for child in children)
    written = notice(
        one.run_id,
        name,
        [EndedChild(child.record, child.further) for child in children],
        policy=kept.policy,
        cause=None if whole else Cause.DAEMON_STOP,
        config_dir=config_dir,
        at=now(),
    )
    log.warning("delegation %s died with the daemon before this one", name)
    outbox.fulfil(one.run_id, written)


KIND = "delegation"
"""The key of a promise by which it is known to be that of a delegation."""


@dataclass(frozen=True)
class _Child:
    """A child with an ending: its own, or the one that the crash was."""

    record: SessionRecord
    by_itself: bool
    further: tuple[str, ...] = ()


def _found(record: SessionRecord, records: SessionStore) -> SessionRecord | str | None:
    """The record that the child's name means, or why there is one that makes no sense."""
    try:
        return records.by_name(record.name)
    except Unreadable as error:
        if error.now:
            raise
        return f"{error}."


def _child(
    delegation: str,
    record: SessionRecord,
    known: SessionRecord | str | None,
    records: SessionStore,
    outbox: Outbox,
    config_dir: Path,
) -> _Child:
    if record.ending is not None:
        _keep_kept(record, known, records, outbox)
        return _Child(record, by_itself=True)
    if isinstance(known, str):
        # its transcript stays out of reach with the record
        return _Child(_killed(record), by_itself=False, further=(known,))
    if known is None or known.session_id != record.session_id or known.delegation != delegation:
        # its session is kept from its beginning on: here none is left that could go on
        place = (config_dir, record.dir, record.session_id)
        begun = transcripts.find(*place) or transcripts.find_archived(*place)
        put_away(config_dir, record)
        records.forget(record.session_id)
        # a transcript shows that claude had its task
        message = sessions.GIVEN_UP if begun else None
        return _Child(_killed(record, left_session=False, message=message), by_itself=False)
    known, missed = settled(config_dir, known)
    further = tuple(sessions.undelivered(note) for note in missed)
    if known.ending is not None:
        return _Child(known, by_itself=True, further=further)
    known = _killed(known)
    keep_ending(known, records, outbox)
    return _Child(known, by_itself=False, further=further)


def _keep_kept(
    record: SessionRecord, known: SessionRecord | str | None, records: SessionStore, outbox: Outbox
) -> None:
    """An ending that the disk refused for the child's record was kept with the delegation."""
    if (
        isinstance(known, SessionRecord)
        and (known.session_id, known.delegation) == (record.session_id, record.delegation)
        and known.ending is None
        and record.ending is not None
    ):
        keep_ending(known.with_ending(record.ending), records, outbox)


def _killed(
    record: SessionRecord, *, left_session: bool = True, message: str | None = None
) -> SessionRecord:
    ending = ending_without_result(
        Killed(cause=Cause.DAEMON_STOP), message=message, left_session=left_session
    )
    return record.with_ending(ending)
