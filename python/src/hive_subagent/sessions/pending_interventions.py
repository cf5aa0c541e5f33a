"""Interventions that no run has delivered: kept with their session, over crashes too."""

from __future__ import annotations

import logging
from pathlib import Path

from hive_subagent.claude import transcripts
from hive_subagent.claude.conversation import Conversation
from hive_subagent.errors import SubagentError
from hive_subagent.models.session import Undelivered
from hive_subagent.sessions.registry import Registry
from hive_subagent.sessions.store import SessionRecord, SessionStore

log = logging.getLogger(__name__)


def keep(record: SessionRecord, *, owed: bool, records: SessionStore, registry: Registry) -> None:
    """Save the undelivered interventions with their session.

    `owed` says that the record is already that of a run whose ending is owed. Before that it may
    yet be refused, and then changes nothing else of a known session. An error of the disk is
    reported in the log.
    """
    try:
        if owed:
            records.save(record)
        elif (known := registry.record(record.name)) is not None:
            known = without_stops(known.model_copy(update={"kept": record.kept}))
            records.save(known)
            registry.amend(known)
    except SubagentError as error:
        log.error("`%s`: what is undelivered cannot be kept: %s", record.name, error)


def confirm(config_dir: Path, record: SessionRecord, conversation: Conversation) -> None:
    """Look for messages of a claude that is gone which it took in and did not live to confirm."""
    for message in conversation.unread:
        message.consumed = _took_in(config_dir, record, message.uuid)


def settled(
    config_dir: Path, record: SessionRecord
) -> tuple[SessionRecord, tuple[Undelivered, ...]]:
    """The record for its next run, and the interventions that the last one did not deliver."""
    missed = tuple(
        note
        for note in record.kept
        # a stop that was heard is not yet one that was carried out
        if note.kind == "stop"
        or note.message is None
        or not _took_in(config_dir, record, note.message)
    )
    return without_stops(record.model_copy(update={"kept": missed})), missed


def without_stops(record: SessionRecord) -> SessionRecord:
    """A stop that came too late for a run is not kept for the next one."""
    kept = tuple(note for note in record.kept if note.kind != "stop")
    return record.model_copy(update={"kept": kept})


def _took_in(config_dir: Path, record: SessionRecord, uuid: str) -> bool:
    found = transcripts.find(config_dir, record.dir, record.session_id)
    return found is not None and transcripts.took_in(found, uuid)
