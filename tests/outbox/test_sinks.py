"""Sinks: a notice is there whole, or it is not accepted and the reason says why."""

import json
import os
import socket
import stat
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hung import hung_file_system

from hive_subagent.errors import ConfigurationError
from hive_subagent.outbox.sink_entries import parse_sink
from hive_subagent.outbox.sinks import DirSink, NotAccepted, UnixSink, encode_notice
from hive_subagent.system import blocking
from outbox.owners import Owner, make_notice


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("dir:/var/todos", "dir:/var/todos"),
        ("unix:/run/x/../owner.sock", "unix:/run/owner.sock"),
        ("dir:~/todos", f"dir:{os.path.expanduser('~')}/todos"),
        ("dir:todos", f"dir:{os.getcwd()}/todos"),
        ("dir:/with:colon", "dir:/with:colon"),
        ("unix:" + "/" + "x" * 106, "unix:" + "/" + "x" * 106),
    ],
)
def test_an_entry_names_one_place(text: str, key: str) -> None:
    assert parse_sink(text).key == key
    assert not parse_sink(text).events


@pytest.mark.parametrize("text", ["dir:/var/todos", "unix:/run/owner.sock"])
def test_an_entry_may_ask_for_events_and_stays_the_same_place(text: str) -> None:
    assert parse_sink(f"{text}?events=1").events
    assert not parse_sink(f"{text}?events=0").events
    assert parse_sink(f"{text}?events=1").key == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dir",
        "/var/todos",
        "dir:",
        "unix:",
        "unix:?a",
        "tcp:1.2.3.4:5",
        "DIR:/x",
        "dir:/x?events=yes",
        "dir:/x?events=1&more=1",
        "dir:/a\0b",
        "unix:/" + "x" * 107,
        "unix:/" + "é" * 54,
    ],
)
def test_a_wrong_entry_is_one_line_that_names_it(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_sink(text)
    assert repr(text) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.name == "todo_sinks", "issue 12, 10"


@given(st.text(st.characters()))
def test_any_text_survives_the_way_to_a_sink(text: str) -> None:
    line = encode_notice(make_notice("r1", text=text))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line)["text"] == text


def test_a_lone_surrogate_is_sent_as_its_escape() -> None:
    assert b'"text": "a\\ud800"' in encode_notice(make_notice("r1", text="a\ud800"))


async def test_a_directory_gets_the_whole_notice_under_its_id(tmp_path: Path) -> None:
    place = tmp_path / "new" / "todos"
    notice = make_notice("r1", text="x" * 100_000)
    await DirSink(place).deliver(notice)
    await DirSink(place).deliver(notice)
    assert os.listdir(place) == ["r1.json"]
    assert json.loads((place / "r1.json").read_bytes()) == notice.model_dump()
    assert stat.S_IMODE((place / "r1.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


async def test_a_directory_that_cannot_be_does_not_accept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NotAccepted, match=f"{tmp_path}/file: ") as caught:
        await DirSink(tmp_path / "file").deliver(make_notice("r1"))
    assert not caught.value.reached


async def test_a_directory_that_hangs_does_not_accept_and_ends_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 10, 7: the daemon's stop waited for it without end."""
    monkeypatch.setattr(blocking, "FILE_TIMEOUT_S", 0.2)
    place, notice = tmp_path / "todos", make_notice("r1")
    sink = DirSink(place)
    with hung_file_system(place):
        for reason in ("no answer within 0.2 s", "an earlier access to it still has no answer"):
            with pytest.raises(NotAccepted, match=f"sink dir:{place}: {reason}") as caught:
                await sink.deliver(notice)
            assert not caught.value.reached
    with anyio.fail_after(30):
        while blocking._unanswered:
            await anyio.lowlevel.checkpoint()
    await sink.deliver(notice)
    assert (place / f"{notice.id}.json").exists()


async def test_a_socket_that_says_ok_has_accepted(owner: Owner) -> None:
    await owner.listen()
    notice = make_notice("r1", text="long " * 100_000 + "\ud800")
    await UnixSink(owner.path).deliver(notice)
    assert owner.received == [notice.model_dump()]


@pytest.mark.parametrize(
    "answer", [b'{"ok":true}\n', b' {"ok": true, "more": [1]} \r\n', b'{"ok":true}\n{"ok":false}\n']
)
async def test_ok_may_come_with_more(owner: Owner, answer: bytes) -> None:
    owner.answer = lambda notice: answer
    await owner.listen()
    await UnixSink(owner.path).deliver(make_notice("r1"))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "closed without an answer"),
        (b"\n", "answered"),
        (b'{"ok":false,"error":"no room"}\n', "no room"),
        (b'{"ok":"true"}\n', "answered"),
        (b'{"ok":1}\n', "answered"),
        (b"[true]\n", "answered"),
        (b"ok\n", "answered"),
        (b"\xff\xfe\n", "answered"),
        (b"[" * 60_000 + b"\n", "answered"),
        (b"x" * 1_000_000, "no line within 65536 bytes"),
    ],
)
async def test_any_other_answer_is_not_accepted(
    owner: Owner, answer: bytes | None, reason: str
) -> None:
    owner.answer = lambda notice: answer
    await owner.listen()
    with pytest.raises(NotAccepted, match=reason) as caught:
        await UnixSink(owner.path).deliver(make_notice("r1"))
    assert caught.value.reached
    assert len(str(caught.value)) < 500
    assert len(str(caught.value).splitlines()) == 1


async def test_an_answer_that_never_ends_is_given_up(owner: Owner) -> None:
    owner.answer = lambda notice: b'{"ok":true}'
    await owner.listen()
    with pytest.raises(NotAccepted, match=r"no answer within 0\.2 s") as caught:
        await UnixSink(owner.path, timeout_s=0.2).deliver(make_notice("r1"))
    assert caught.value.reached


async def test_a_socket_without_a_listener_was_not_reached(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead"))
    for name in ("missing", "dead"):
        with pytest.raises(NotAccepted, match=name) as caught:
            await UnixSink(tmp_path / name).deliver(make_notice("r1"))
        assert not caught.value.reached


async def test_a_full_backlog_fails_at_once_instead_of_spinning(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as hung, socket.socket(socket.AF_UNIX) as waiting:
        hung.bind(str(tmp_path / "hung"))
        hung.listen(0)
        waiting.connect(str(tmp_path / "hung"))
        with pytest.raises(NotAccepted, match="temporarily unavailable") as caught:
            await UnixSink(tmp_path / "hung").deliver(make_notice("r1"))
    assert not caught.value.reached


async def test_a_cancelled_delivery_ends_at_once(owner: Owner) -> None:
    owner.answer = lambda notice: b""
    await owner.listen()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(UnixSink(owner.path).deliver, make_notice("r1"))
        await owner.received_ids(1)
        tasks.cancel_scope.cancel()
