"""What a daemon makes of the runs that the one before it left."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import anyio
import pytest
from support.faults import no_room_for_files

from hive_subagent.outbox.outbox import Outbox
from hive_subagent.outbox.sinks import DirSink
from hive_subagent.sessions import reporting
from hive_subagent.sessions.recovery import Recovery
from hive_subagent.sessions.store import SessionRecord, SessionStore

RUN_ID = "8d8f5b0e-0c53-4c40-9f3e-3f1f4f7ad5a5"
SESSION_ID = "1c0a3f4e-8a52-4b8e-9f0e-7d7f5f3b2a11"


async def test_a_full_disk_keeps_no_daemon_from_telling_what_it_found(tmp_path: Path) -> None:
    """R17: it ended with a traceback, at every start, for as long as the disk was full."""
    records = SessionStore(tmp_path)
    records.save(SessionRecord(name="lint", session_id=SESSION_ID, dir=str(tmp_path), ours=True))
    Outbox(tmp_path, []).promise(RUN_ID, {"name": "lint", "session_id": SESSION_ID})
    outbox = Outbox(tmp_path, [DirSink(tmp_path / "todos")])

    recovery = Recovery(records, outbox, tmp_path / "claude", lambda left: None)
    with no_room_for_files():
        assert await recovery.attempt()
    assert (recovery.counts["unsaved"], records.retry()) == (2, 0)

    await outbox.drain(10)
    notice = json.loads((tmp_path / "todos" / f"{RUN_ID}.json").read_bytes())
    assert (notice["name"], notice["kind"]) == ("lint", "killed")
    assert outbox.pending == 0


async def test_a_report_file_that_hangs_holds_up_its_own_ending_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 10, 7: what could not be read at the start is settled while the daemon serves."""
    release = threading.Event()

    def hang(path: Path, text: str, *, beneath: Path | None = None) -> str | None:
        return None if release.wait(60) else "it hung"

    monkeypatch.setattr(reporting, "append_report", hang)
    records = SessionStore(tmp_path)
    record = SessionRecord(name="lint", session_id=SESSION_ID, dir=str(tmp_path), ours=True)
    records.save(record.model_copy(update={"report_file": str(tmp_path / "report.md")}))
    Outbox(tmp_path, []).promise(RUN_ID, {"name": "lint", "session_id": SESSION_ID})
    outbox = Outbox(tmp_path, [DirSink(tmp_path / "todos")])
    recovery = Recovery(records, outbox, tmp_path / "claude", lambda left: None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recovery.attempt)
        await anyio.wait_all_tasks_blocked()
        assert outbox.pending == 0
        release.set()
    assert outbox.pending == 1
    ending = SessionStore(tmp_path).by_name("lint")
    assert ending is not None
    assert ending.ending is not None
    assert ending.ending.run_id == RUN_ID
    await outbox.drain(10)
    notice = json.loads((tmp_path / "todos" / f"{RUN_ID}.json").read_bytes())
    assert "was not written" not in notice["text"]
    assert list((tmp_path / "owed").iterdir()) == []
