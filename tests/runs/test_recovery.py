"""What a daemon makes of the runs that the one before it left."""

from __future__ import annotations

import json
from pathlib import Path

from support.faults import no_room_for_files

from hive_subagent.runs.records import Records, SessionRecord
from hive_subagent.runs.recovery import Recovery
from hive_subagent.todos.outbox import Outbox
from hive_subagent.todos.sinks import DirSink

RUN_ID = "8d8f5b0e-0c53-4c40-9f3e-3f1f4f7ad5a5"
SESSION_ID = "1c0a3f4e-8a52-4b8e-9f0e-7d7f5f3b2a11"


async def test_a_full_disk_keeps_no_daemon_from_telling_what_it_found(tmp_path: Path) -> None:
    """R17: it ended with a traceback, at every start, for as long as the disk was full."""
    records = Records(tmp_path)
    records.save(SessionRecord(name="lint", session_id=SESSION_ID, dir=str(tmp_path), ours=True))
    Outbox(tmp_path, []).owe(RUN_ID, {"name": "lint", "session_id": SESSION_ID})
    outbox = Outbox(tmp_path, [DirSink(tmp_path / "todos")])

    recovery = Recovery(records, outbox, tmp_path / "claude", lambda left: None)
    with no_room_for_files():
        assert recovery.attempt()
    assert (recovery.counts["unsaved"], records.retry()) == (2, 0)

    await outbox.drain(10)
    notice = json.loads((tmp_path / "todos" / f"{RUN_ID}.json").read_bytes())
    assert (notice["name"], notice["kind"]) == ("lint", "killed")
    assert outbox.pending == 0
