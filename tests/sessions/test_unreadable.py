"""A record that cannot be read is no record that does not exist."""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from support.faults import no_descriptors, no_room_for_files
from support.house import House, house
from support.stub import script, text

from hive_subagent.errors import Refused
from hive_subagent.messages import sessions
from hive_subagent.models.session import SessionView
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.permissions import CHILD, TOP
from hive_subagent.sessions import reporting
from hive_subagent.sessions import store as records_module
from hive_subagent.sessions.recovery import Recovery
from hive_subagent.sessions.registry import Registry
from hive_subagent.sessions.store import SessionRecord, SessionStore, Unreadable


def kept(home: Path, **fields: object) -> SessionRecord:
    """A delegated child of an earlier life of the daemon."""
    made = SessionRecord(
        name="child",
        session_id=str(uuid.uuid4()),
        dir=str(home / "work"),
        ours=True,
        permissions=TOP.meet(CHILD),
        depth=1,
    ).model_copy(update=fields)
    records = SessionStore(home / "state")
    records.save_brief(made.session_id, b"the brief")
    records.save(made)
    return made


def record_of(home: Path, record: SessionRecord) -> Path:
    return home / "state" / "sessions" / record.session_id / "record.json"


def newer(content: bytes) -> bytes:
    return json.dumps({**json.loads(content), "version": 2, "unheard_of": []}).encode()


async def test_continue_refuses_while_the_record_cannot_be_read(home: House) -> None:
    """Issue 10, 2: it took the child for a session of somebody else, without its ceiling."""
    kept(home.root)
    with no_descriptors(), pytest.raises(Refused) as caught:
        await home.service.continue_("child", "go on")
    assert str(caught.value) == (
        "what is kept of subagent `child` cannot be read (Too many open files): call again"
    )
    assert home.executor.registry.live == []


async def test_the_id_of_a_session_is_no_way_past_its_record(home: House) -> None:
    """Issue 10, 2: claude takes an id for a title, and the child went on without its ceiling."""
    first = await home.run(script(text("x")))
    record = kept(home.root)
    for session_id in (first.session_id, record.session_id):
        with pytest.raises(Refused, match="`continue` it by its name"):
            await home.service.continue_(session_id, "go on")
    (home.root / "state" / "sessions").rename(home.root / "away")
    with pytest.raises(Refused, match="`continue` it by its name"):
        await home.service.continue_(record.session_id, "go on")
    (home.root / "state" / "sessions").write_text("in the way")
    with pytest.raises(Refused, match=r"cannot be looked up \(Not a directory\): call again"):
        await home.service.continue_(record.session_id, "go on")


async def test_a_name_without_a_record_is_known_to_have_none(home: House) -> None:
    """Issue 10, 2: only "no such file" says that."""
    assert home.executor.records.by_name("child") is None
    (home.root / "state" / "names").rename(home.root / "away")
    with pytest.raises(Unreadable, match="No such file or directory"):
        home.executor.records.by_name("child")
    (home.root / "state" / "names").write_text("in the way")
    with pytest.raises(Unreadable, match="Not a directory"):
        home.executor.records.by_name("child")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (newer, "its version is 2, this daemon reads those up to 1"),
        (lambda content: content[:50], ""),
        (lambda content: b"", ""),
        (lambda content: bytes(len(content)), ""),
        (lambda content: b"[" * 100_000, "it is no record"),
        (lambda content: None, "record.json is missing"),
    ],
)
async def test_status_and_continue_say_the_same_of_a_record_that_makes_no_sense(
    home: House, change: Callable[[bytes], bytes | None], reason: str
) -> None:
    """Issue 10, 5: status said that nothing was known."""
    record = kept(home.root)
    file = record_of(home.root, record)
    changed = change(file.read_bytes())
    if changed is None:
        file.unlink()
    else:
        file.write_bytes(changed)
    said = set()
    for call in (
        lambda: home.service.status("child"),
        lambda: home.service.continue_("child", "go on"),
        lambda: home.service.start("child", home.brief()),
    ):
        with pytest.raises(Refused) as caught:
            await call()
        said.add(str(caught.value))
    (words,) = said
    assert words.startswith("what is kept of subagent `child` cannot be read (")
    assert reason in words
    assert len(words.splitlines()) == 1
    # its name is taken, and no reason to say nothing of the others
    (home.root / "state" / "names" / "child").unlink()
    assert (await home.run(script(text("new")), "child")).result == "new"


async def test_a_record_says_its_version(home: House) -> None:
    """Issue 10, 5: and one without any is of the first."""
    file = record_of(home.root, record := kept(home.root))
    fields = json.loads(file.read_bytes())
    assert fields.pop("version") == 1
    file.write_text(json.dumps(fields))
    assert home.executor.records.by_name("child") == record


async def test_one_unreadable_record_does_not_hide_the_other_sessions(home: House) -> None:
    """Issue 10, 5: `status` of all names it beside them."""
    for name in ("one", "two"):
        await home.run(script(text(name)), name)
    registry = home.executor.registry
    forgetful = Registry(home.executor.records, max_running=1)
    for name in registry.names:
        forgetful._names[name] = None
    object.__setattr__(home.executor, "registry", forgetful)
    means = home.root / "state" / "names" / "one"
    (home.root / "state" / "sessions" / means.read_text() / "record.json").write_text("{")
    reply, words = await home.service.status_of_all()
    assert [session.name for session in reply.sessions] == ["two"]
    assert words.startswith("what is kept of subagent `one` cannot be read (")


async def test_nothing_is_said_of_a_run_whose_record_cannot_be_read_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 10, 1 and 2: it is settled once that can be read."""
    record = kept(tmp_path)
    state = tmp_path / "state"
    promised = Outbox(state, [])
    promised.promise("r1", {"name": "child", "session_id": record.session_id})
    outbox = Outbox(state, [])
    recovery = Recovery(SessionStore(state), outbox, tmp_path / "claude", lambda left: None)
    with monkeypatch.context() as broken:

        def fail(path: Path) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

        broken.setattr(records_module, "read_ours", fail)
        assert not await recovery.attempt()
    assert outbox.pending == 0
    assert await recovery.attempt()
    again = SessionStore(state).by_name("child")
    assert again is not None
    assert again.ending is not None
    assert again.ending.cause == "daemon_stop"
    assert list((state / "owed").iterdir()) == []


async def test_an_ending_that_its_record_does_not_take_is_kept_and_saved_later(
    tmp_path: Path,
) -> None:
    """Issue 10, 3: `status` and the next daemon say what was said."""
    gate = tmp_path / "gate"
    async with house(tmp_path) as home:
        live = await home.begin(script({"wait_file": str(gate)}, text("the answer")))
        with no_room_for_files(1):
            gate.touch()
            await live.over.wait()
            assert home.executor.records.unsaved == 1
            assert (await home.service.status("agent"))[0].result == "the answer"
            before = home.executor.records.by_name("agent")
            assert before is not None
            assert before.ending is not None
        assert home.executor.records.retry() == 0
        assert home.executor.records.unsaved == 0
        await home.notices()
    again = SessionStore(tmp_path / "state").by_name("agent")
    assert again is not None
    assert again.ending is not None
    assert again.ending.result == "the answer"


def test_an_ending_that_is_saved_late_does_not_take_back_the_name(tmp_path: Path) -> None:
    """Issue 10, 3: after a restart the name meant the archived session, and not the new one."""
    records = SessionStore(tmp_path / "state")
    first = kept(tmp_path)
    saved: list[str] = []
    with no_room_for_files(1):
        assert not records.keep(first, lambda: saved.append("first"))
    second = kept(tmp_path)
    records.save(second)
    assert saved == ["first"]
    assert records.retry() == 0
    assert records.by_name("child") == second
    assert SessionStore(tmp_path / "state").by_name("child") == second


async def test_a_fault_while_an_ending_is_told_costs_no_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 10: the run had its ending by then, and its notice waited for the next daemon."""
    faults = [ZeroDivisionError("a fault of ours")]

    def ended(view: SessionView) -> str:
        if faults:
            raise faults.pop()
        return sessions.ended(view)

    monkeypatch.setattr(reporting, "ended", ended)
    async with house(tmp_path) as home:
        view = await home.run(script(text("the answer")))
        assert (view.state, view.message) == ("failed", sessions.BROKEN)
        [notice] = await home.notices()
    assert notice["kind"] == "failed"
