"""What a daemon says of the runs that the one before it left unfinished."""

from __future__ import annotations

import logging
from pathlib import Path

from hive_subagent.errors import SubagentError
from hive_subagent.models import Cause, State, StopReason
from hive_subagent.runs import wording
from hive_subagent.runs.records import Ending, Records, SessionRecord
from hive_subagent.runs.session import now
from hive_subagent.runs.telling import tell
from hive_subagent.runs.undelivered import settled
from hive_subagent.todos.outbox import Outbox, Unfinished

log = logging.getLogger(__name__)


def recover(records: Records, outbox: Outbox, config_dir: Path) -> list[Unfinished]:
    """Settle each run that was promised a notice and died with its daemon: killed.

    Returns what was promised for something else than a run.
    """
    others = []
    for left in outbox.load_unfinished():
        if "delegation" in left.payload:
            others.append(left)
            continue
        name = str(left.payload.get("name"))
        session_id = str(left.payload.get("session_id"))
        record = records.by_name(name)
        known = record is not None and record.session_id == session_id
        if record is None or not known:
            record = SessionRecord(name=name, session_id=session_id, dir="", ours=False)
        record, missed = settled(config_dir, record)
        words = [wording.undelivered(note) for note in missed]
        if record.ending is not None and record.ending.run_id == left.run_id:
            # it had ended by itself; only the telling was cut short
            tell(record, outbox, further_words=words)
            continue
        ending = Ending(
            run_id=left.run_id,
            state=State.KILLED,
            stop_reason=StopReason.KILLED,
            cause=Cause.DAEMON_STOP,
            max_turns=(record.max_turns or 1) if record.goal else 1,
            cost_total=record.ending.cost_total if record.ending else None,
            at=now(),
        )
        record = record.model_copy(update={"ending": ending})
        if known:
            _keep(records, record)
        log.warning("run %s of `%s` died with the daemon before this one", left.run_id, name)
        tell(record, outbox, further_words=words)
    return others


def _keep(records: Records, record: SessionRecord) -> None:
    # what cannot be kept is told all the same, and the daemon is needed even on a full disk
    try:
        records.save(record)
    except SubagentError as error:
        log.error("how `%s` ended is told, but cannot be kept: %s", record.name, error)
