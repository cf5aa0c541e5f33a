"""What somebody put into the daemon's directories beforehand: not followed, not believed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.stub import script, text
from support.unusable import run

from security.rude import everything_below

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
        world.runtime_dir / "channels" / "mine": victim,
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
    assert (await world.run(script(text("done")), "mine"))["result"] == "done"
    await world.notice("mine")
    for name in ("agent", "other"):
        assert f"names/{name} to go on without it" in await world.refused("status", name=name)
    assert world.stop() == 0

    assert everything_below(victim) == before
    assert sorted(path.name for path in (world.state_dir / "owed").iterdir()) == [
        "run-1.json.broken"
    ]
    assert [notice["name"] for notice in world.notices()].count("mine") == 1
    for line in ("channel", "run-1.json is broken"):
        assert line in world.log
    assert "Traceback" not in world.log


@as_root
@pytest.mark.parametrize("place", ["state", "run", "state/sessions", "state/owed", "run/mcp"])
def test_a_folder_of_another_user_ends_the_start_and_is_named(
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
def test_a_file_of_another_user_ends_the_start_and_is_named(
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


async def test_what_others_could_have_written_is_closed_to_them_or_not_believed(
    world: Daemon,
) -> None:
    """Files are closed where they were open, and believed only where they are ours."""
    world.start()
    sessions = {
        name: await world.run(script(text("done")), name, goal="g", max_turns=1)
        for name in ("ours", "one", "two")
    }
    assert world.stop() == 0
    for root in (world.state_dir, world.runtime_dir):
        for path in (root, *root.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
    forged = world.state_dir / "owed" / "forged.json"
    # an ordinary user has nobody to give a file to, and what it writes itself is to be believed
    others = os.geteuid() == 0
    if others:
        payload = {"name": "ours", "session_id": sessions["ours"]["session_id"]}
        forged.write_text(json.dumps({"state": "running", "payload": payload}))
        record = world.state_dir / "sessions" / sessions["two"]["session_id"] / "record.json"
        for file in (forged, world.state_dir / "names" / "one", record):
            os.chown(file, STRANGER, -1)

    umask = os.umask(0)
    try:
        world.start()
        assert (await world.must("status", name="ours"))["stop_reason"] == "turn_cap"
        await world.must("continue", name="ours", prompt=script(text("again")))
        await world.ended("ours")
        if others:
            for name in ("one", "two"):
                assert f"it belongs to uid {STRANGER}" in await world.refused("status", name=name)
            assert forged.with_name("forged.json.broken").exists()
            await world.notice("ours", count=2)
    finally:
        os.umask(umask)

    folders = [p for d in (world.state_dir, world.runtime_dir) for p in (d, *d.glob("*/"))]
    kept = world.state_dir / "sessions" / sessions["ours"]["session_id"]
    files = [
        *(world.state_dir / name for name in ("daemon.lock", "identity", "names/ours")),
        *(world.runtime_dir / name for name in ("daemon.lock", "daemon.json")),
        *(kept / name for name in ("record.json", "brief.md")),
        world.runtime_dir / "channels" / "ours" / "output.txt",
    ]
    assert {path.name: mode(path) for path in folders if mode(path) != 0o700} == {}
    assert {path.name: mode(path) for path in files if mode(path) != 0o600} == {}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
