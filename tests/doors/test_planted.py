"""What somebody put into the daemon's directories beforehand: not followed, not believed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.stub import script, text
from support.unusable import run

from doors.rude import everything_below, open_to_others

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")

STRANGER = 12345


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder outside that is to stay as it is."""
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "precious").write_text("keep")
    (folder / "precious").chmod(0o644)
    return folder


@pytest.mark.parametrize(
    "place",
    [
        *("state", "state/sessions", "state/names", "state/owed", "state/todos", "state/identity"),
        *("state/daemon.lock", "run", "run/mcp", "run/channels", "run/daemon.lock"),
    ],
)
@pytest.mark.parametrize("aim", ["folder", "file", "nothing"])
def test_a_link_in_the_place_of_what_is_the_daemons_ends_it_by_name(
    tmp_path: Path,
    victim: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: str,
    aim: str,
) -> None:
    target = {"folder": victim, "file": victim / "precious", "nothing": tmp_path / "nothing"}[aim]
    link = tmp_path / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    before = everything_below(victim)

    code, said = run(tmp_path, monkeypatch, capsys)

    assert code == 2
    assert str(link) in said
    assert everything_below(victim) == before
    assert not (tmp_path / "nothing").exists()


async def test_links_among_its_files_are_replaced_removed_or_left_out(
    world: Daemon, victim: Path
) -> None:
    """Each place that a run's files come to; the daemon starts, and runs."""
    session = "0b5ed1b4-3a51-4d3c-9f6e-7a0d8c1f2e3a"
    outside = victim / "precious"
    for folder in ("mcp", "channels"):
        (world.runtime_dir / folder).mkdir(parents=True)
    for folder in ("sessions", "names", "owed", "todos"):
        (world.state_dir / folder).mkdir(parents=True)
    for place, target in {
        world.runtime_dir / "daemon.json": outside,
        world.runtime_dir / "mcp" / "left.json": outside,
        world.runtime_dir / "channels" / "agent": victim,
        world.state_dir / "names" / "agent": outside,
        world.state_dir / "names" / "other": outside,
        world.state_dir / "sessions" / session: victim,
        world.state_dir / "owed" / "run-1.json": outside,
        world.state_dir / "owed" / ".x.tmp": outside,
    }.items():
        place.symlink_to(target)
    notice = {"state": "running", "payload": {"name": "../../victim", "session_id": "../x"}}
    (world.state_dir / "owed" / "run-2.json").write_text(json.dumps(notice))
    before = everything_below(victim)

    world.start()
    assert (await world.run(script(text("done")), "agent"))["result"] == "done"
    await world.notice("agent")
    assert "nothing is known" in await world.refused("status", name="other")
    assert world.stop() == 0

    assert everything_below(victim) == before
    assert sorted(path.name for path in (world.state_dir / "owed").iterdir()) == [
        "run-1.json.broken"
    ]
    assert [notice["name"] for notice in world.notices()].count("agent") == 1
    for line in ("channel", "run-1.json is broken", "the record of session other"):
        assert line in world.log
    assert "Traceback" not in world.log


def spoil(root: Path, act: Callable[[Path], None]) -> None:
    for path in (root, *root.rglob("*")):
        act(path)


async def test_directories_and_files_that_others_could_open_are_closed_to_them(
    world: Daemon,
) -> None:
    world.start()
    name = await world.begin(script(text("done")), goal="g", max_turns=1)
    await world.notice(name)
    assert world.stop() == 0
    for root in (world.state_dir, world.runtime_dir):
        spoil(root, lambda path: path.chmod(0o777 if path.is_dir() else 0o666))
    umask = os.umask(0)
    try:
        world.start()
        assert (await world.must("status", name=name))["stop_reason"] == "turn_cap"
        await world.must("continue", name=name, prompt=script(text("again")))
        await world.notice(name, count=2)
    finally:
        os.umask(umask)
    told = open_to_others(world.state_dir) + open_to_others(world.runtime_dir)
    # a notice that was delivered is its reader's
    assert [path for path in told if "/todos/" not in path] == []


@as_root
@pytest.mark.parametrize("place", ["state", "run", "state/sessions", "state/owed", "run/mcp"])
def test_a_folder_of_somebody_else_ends_it_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    os.chown(folder, STRANGER, -1)
    code, said = run(tmp_path, monkeypatch, capsys)
    assert code == 2
    assert f"{folder} belongs to uid {STRANGER}" in said


@as_root
@pytest.mark.parametrize("place", ["state/identity", "state/daemon.lock", "run/daemon.lock"])
def test_a_file_of_somebody_else_ends_it_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.write_text("0" * 32)
    os.chown(file, STRANGER, -1)
    code, said = run(tmp_path, monkeypatch, capsys)
    assert code == 2
    assert str(file) in said
    assert f"belongs to uid {STRANGER}" in said
    assert file.read_text() == "0" * 32


@as_root
async def test_what_somebody_else_left_among_its_files_is_not_believed(world: Daemon) -> None:
    world.start()
    one = await world.run(script(text("done")), "one")
    two = await world.run(script(text("done")), "two")
    assert world.stop() == 0
    (owed,) = [world.state_dir / "owed" / "forged.json"]
    forged = {"state": "running", "payload": {"name": "one", "session_id": one["session_id"]}}
    owed.write_text(json.dumps(forged))
    for file in (
        owed,
        world.state_dir / "names" / "one",
        world.state_dir / "sessions" / two["session_id"] / "record.json",
    ):
        os.chown(file, STRANGER, -1)

    world.start()

    for name in ("one", "two"):
        assert "nothing is known" in await world.refused("status", name=name)
    assert owed.with_name("forged.json.broken").exists()
    assert len(world.notices()) == 2
    assert (await world.run(script(text("again")), "one"))["state"] == "idle"


async def test_a_runtime_directory_that_is_emptied_under_it_costs_no_run(world: Daemon) -> None:
    """Not a door, but what a careless clean-up of /run does."""
    world.start()
    shutil.rmtree(world.runtime_dir)
    assert (await world.run(script(text("done"))))["result"] == "done"
    refused = await world.refused(
        "start", name="goal", prompt_file=world.brief(script(text("x"))), goal="g"
    )
    assert "restart the daemon if the directory is gone" in refused
    assert world.stop() == 0
