"""The events of a run: that its own work began, and that it ended."""

from __future__ import annotations

import logging
import time

from hive_subagent.claude.process import RunningClaude
from hive_subagent.models.notices import RunEvent
from hive_subagent.sessions.ending import now
from hive_subagent.sessions.store import SessionRecord

log = logging.getLogger(__name__)


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
