"""What a daemon says of the delegation that the one before it left unfinished."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from hive_subagent.delegation.telling import Told, notice
from hive_subagent.errors import SubagentError
from hive_subagent.models import Cause, Frozen, State, StopReason, WaitPolicy
from hive_subagent.runs.records import Ending, Records, SessionRecord
from hive_subagent.runs.session import now
from hive_subagent.todos.outbox import Outbox, Unfinished

log = logging.getLogger(__name__)


class Kept(Frozen):
    """What the promise of a delegation's notice holds: its children as they stood."""

    policy: WaitPolicy
    children: list[SessionRecord]


def recover_delegations(
    left: Iterable[Unfinished], records: Records, outbox: Outbox, config_dir: Path
) -> None:
    """Settle each delegation that died with its daemon: killed, with what had ended before."""
    for one in left:
        name = str(one.payload.get("name"))
        try:
            kept = Kept.model_validate(one.payload.get(KIND))
        except ValidationError as error:
            log.error("what delegation %s had done cannot be read: %s", name, error.errors()[0])
            kept = Kept(policy="all", children=[])
        children = [_as_it_ended(record, records) for record in kept.children]
        told = [
            Told(record or _killed(was, records))
            for record, was in zip(children, kept.children, strict=True)
        ]
        written = notice(
            one.run_id,
            name,
            told,
            policy=kept.policy,
            cause=None if children and all(children) else Cause.DAEMON_STOP,
            config_dir=config_dir,
            at=now(),
        )
        log.warning("delegation %s died with the daemon before this one", name)
        outbox.settle(one.run_id, written)


KIND = "delegation"
"""The key of a promise by which it is known to be that of a delegation."""


def _as_it_ended(record: SessionRecord, records: Records) -> SessionRecord | None:
    """The child with its ending, if it had one: in the promise, or only in its session yet."""
    if record.ending is not None:
        return record
    known = _known(record, records)
    return known if known and known.ending else None


def _killed(record: SessionRecord, records: Records) -> SessionRecord:
    known = _known(record, records)
    ending = Ending(
        run_id=str(uuid.uuid4()),
        state=State.KILLED,
        stop_reason=StopReason.KILLED,
        cause=Cause.DAEMON_STOP,
        turn=1 if known else 0,
        at=now(),
    )
    record = (known or record).model_copy(update={"ending": ending})
    if known is None:
        records.forget(record.session_id)
        return record
    try:
        records.save(record)
    except SubagentError as error:
        log.error("how `%s` ended is told, but cannot be kept: %s", record.name, error)
    return record


def _known(record: SessionRecord, records: Records) -> SessionRecord | None:
    """The child's session as it is kept since its run began; None where it never did."""
    known = records.by_name(record.name)
    return known if known and known.session_id == record.session_id else None
