"""`exec:PATH`: exit 0 takes a notice, and nothing that a program starts stays (issue 13, 7)."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.processes import until

from hive_subagent.containment import Containment
from hive_subagent.errors import ConfigurationError
from hive_subagent.outbox import exec_sink
from hive_subagent.outbox.exec_sink import ExecSink
from hive_subagent.outbox.sink_entries import parse_sink
from hive_subagent.outbox.sinks import NotAccepted
from outbox.owners import make_notice


@pytest.fixture
async def containment() -> AsyncIterator[Containment]:
    made = Containment.create(identity=uuid.uuid4().hex)
    made.start()
    try:
        yield made
    finally:
        await made.end_everything()
        await made.stop()


def program(folder: Path, body: str, *, name: str = "take", mode: int = 0o755) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(mode)
    return path


def sink_of(path: Path, containment: Containment, timeout_s: float = 30) -> ExecSink:
    return ExecSink(path, containment.open, timeout_s=timeout_s)


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


async def test_the_program_reads_the_whole_notice_and_its_exit_0_takes_it(
    tmp_path: Path, containment: Containment
) -> None:
    notice = make_notice("r1", text="é\n" * 200_000)
    path = program(tmp_path, f"cat >{tmp_path}/got; echo $# >{tmp_path}/arguments; pwd")
    await sink_of(path, containment).deliver(notice)
    line = (tmp_path / "got").read_bytes()
    assert json.loads(line) == notice.model_dump()
    assert line.count(b"\n") == 1
    assert (tmp_path / "arguments").read_text() == "0\n"


async def test_a_program_that_reads_nothing_takes_a_long_notice(
    tmp_path: Path, containment: Containment
) -> None:
    await sink_of(program(tmp_path, "exit 0"), containment).deliver(
        make_notice("r1", text="x" * 1_000_000)
    )


@pytest.mark.parametrize(
    ("body", "reason", "reached"),
    [
        ("echo no room >&2; exit 3", "exited 3: no room", True),
        ("printf 'one\\ntwo \\033[31mred\\n'; exit 1", r"exited 1: two \\x1b\[31mred", True),
        ("kill -9 $$", "was ended by signal 9", True),
        ("exit 75", "exited 75", False),
    ],
)
async def test_any_other_exit_takes_nothing_and_its_last_line_says_why(
    tmp_path: Path, containment: Containment, body: str, reason: str, reached: bool
) -> None:
    path = program(tmp_path, body)
    with pytest.raises(NotAccepted, match=f"{path}: {reason}") as caught:
        await sink_of(path, containment).deliver(make_notice("r1"))
    assert caught.value.reached is reached
    assert len(str(caught.value).splitlines()) == 1


async def test_the_environment_is_small_and_holds_no_credential(
    tmp_path: Path, containment: Containment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "HYPERHIVE_SUBAGENT_TOKEN", "LD_X"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LC_TIME", "C")
    path = program(tmp_path, f"env >{tmp_path}/seen; pwd >>{tmp_path}/seen")
    await sink_of(path, containment).deliver(make_notice("r1"))
    seen = (tmp_path / "seen").read_text()
    assert "secret" not in seen
    assert "LC_TIME=C" in seen
    assert seen.endswith("\n/\n"), "its directory keeps nothing mounted"


@pytest.mark.parametrize("way", ["exits", "hangs"])
async def test_what_the_program_starts_ends_with_it(
    tmp_path: Path, containment: Containment, way: str
) -> None:
    """A child in a session of its own, too, which holds the output open."""
    pids = tmp_path / "pids"
    path = program(
        tmp_path,
        f"setsid sleep 600 & echo $! >>{pids}; echo $$ >>{pids}\n"
        + ("sleep 600" if way == "hangs" else "exit 0"),
    )
    sink = sink_of(path, containment, timeout_s=60 if way == "exits" else 1)
    if way == "exits":
        await sink.deliver(make_notice("r1"))
    else:
        with pytest.raises(NotAccepted, match="had not exited after 1 s") as caught:
            await sink.deliver(make_notice("r1"))
        assert caught.value.reached
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    await until(lambda: not any(is_alive(pid) for pid in started))


async def test_a_flood_of_output_ends_the_program(
    tmp_path: Path, containment: Containment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_sink, "MOST_OUTPUT", 100_000)
    path = program(tmp_path, f"echo $$ >{tmp_path}/pid; while :; do echo flood; done")
    with pytest.raises(NotAccepted, match="it wrote more than 100000 bytes"):
        await sink_of(path, containment).deliver(make_notice("r1"))
    assert not is_alive(int((tmp_path / "pid").read_text()))


async def test_deliveries_leave_no_descriptor_and_no_child(
    tmp_path: Path, containment: Containment
) -> None:
    sink = sink_of(program(tmp_path, "exit 0"), containment)
    await sink.deliver(make_notice("r0"))
    before = len(os.listdir("/proc/self/fd")), children()
    for number in range(5):
        await sink.deliver(make_notice(f"r{number}"))
    assert (len(os.listdir("/proc/self/fd")), children()) == before


def children() -> set[str]:
    """Those of this process; other tests of it may have daemons."""
    tasks = Path("/proc/self/task").iterdir()
    return {pid for task in tasks for pid in (task / "children").read_text().split()}


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (0o775, "can be written by others; chmod go-w it"),
        (0o757, "can be written by others"),
        (0o644, "is not executable"),
    ],
)
async def test_a_program_that_others_could_change_is_never_run(
    tmp_path: Path, containment: Containment, mode: int, reason: str
) -> None:
    path = program(tmp_path, f"touch {tmp_path}/ran", mode=mode)
    with pytest.raises(ConfigurationError, match=reason):
        parse_sink(f"exec:{path}", enclose=containment.open)
    with pytest.raises(NotAccepted, match=reason) as caught:
        await sink_of(path, containment).deliver(make_notice("r1"))
    assert not caught.value.reached
    assert not (tmp_path / "ran").exists()


async def test_a_folder_in_which_others_could_replace_the_program_is_refused(
    tmp_path: Path, containment: Containment
) -> None:
    path = program(tmp_path, "exit 0")
    link = tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(path)
    assert parse_sink(f"exec:{link}", enclose=containment.open).key == f"exec:{link}"
    link.parent.chmod(0o777)
    with pytest.raises(ConfigurationError, match="elsewhere can be written by others"):
        parse_sink(f"exec:{link}", enclose=containment.open)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("exec:take", "must be absolute"),
        ("exec:~/take", "must be absolute"),
        ("exec:/nonexistent/take", "No such file"),
        ("exec:/proc", "not a regular file"),
        ("exec:/nonexistent/true --all", "No such file"),
        ("exec:/nonexistent/true?events=2", "write events=1 or nothing"),
    ],
)
async def test_a_wrong_program_is_one_line_that_names_the_entry(
    containment: Containment, text: str, reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason) as caught:
        parse_sink(text, enclose=containment.open)
    assert repr(text) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


async def test_a_program_can_ask_for_events(tmp_path: Path, containment: Containment) -> None:
    path = program(tmp_path, "exit 0")
    assert parse_sink(f"exec:{path}?events=1", enclose=containment.open).events
