"""Directories that are links, and directories that are renamed between two runs of a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.stub import NEW, OLD, bash, script

HERE = script(bash("pwd -P > here.txt"), {"echo_history": True})


@pytest.fixture(params=[NEW, OLD])
def moving(world: Daemon, request: pytest.FixtureRequest) -> Daemon:
    world.settings["child_env"] = ["HIVE_SUBAGENT_STUB_VERSION"]
    world.environment["HIVE_SUBAGENT_STUB_VERSION"] = request.param
    for name in ("first", "second"):
        (world.root / name).mkdir()
    (world.root / "link").symlink_to(world.root / "first")
    world.start()
    return world


def turn_the_link(world: Daemon) -> None:
    (world.root / "link").unlink()
    (world.root / "link").symlink_to(world.root / "second")


def rename_first(world: Daemon, to: str) -> Path:
    return (world.root / "first").rename(world.root / to)


async def test_a_session_goes_on_where_it_began_although_the_link_moved(moving: Daemon) -> None:
    """Issue 9, 22: 2.1.332 wrote into the other directory, 2.1.197 found nothing."""
    session = await moving.run(HERE, dir=str(moving.root / "link"))
    assert session["dir"] == str(moving.root / "first")
    turn_the_link(moving)
    moving.restart()
    reply = await moving.must("continue", name=session["name"], prompt=HERE)
    assert reply["dir"] == str(moving.root / "first")
    assert "Carry out" in (await moving.ended(session["name"]))["result"]
    assert not list((moving.root / "second").iterdir())
    # the link means another directory now
    said = await moving.refused(
        "continue", name=session["name"], prompt="x", dir=str(moving.root / "link")
    )
    assert f"not in {moving.root / 'second'}: leave `dir` out" in said


async def test_after_a_rename_the_advice_leads_out(moving: Daemon) -> None:
    """Issue 9, 22: without `dir` it asked for one, and with `dir` to leave it out."""
    name = (await moving.run(HERE, dir=str(moving.root / "first")))["name"]
    renamed = rename_first(moving, "renamed")
    for given in ({}, {"dir": str(renamed)}, {"dir": str(moving.root / "second")}):
        said = await moving.refused("continue", name=name, prompt="x", **given)
        assert f"was started in {moving.root / 'first'}, and nothing is there any more" in said
        assert "Put the directory back there, or `start` the session anew" in said
        assert "leave `dir` out" not in said
    renamed.rename(moving.root / "first")
    await moving.must("continue", name=name, prompt=HERE)
    assert "Carry out" in (await moving.ended(name))["result"]


async def test_a_link_in_the_place_of_the_directory_is_no_way_round(moving: Daemon) -> None:
    """Issue 9, 22: the session would work in another directory, and 2.1.197 find nothing."""
    name = (await moving.run(HERE, dir=str(moving.root / "first")))["name"]
    renamed = rename_first(moving, "renamed")
    (moving.root / "first").symlink_to(renamed)
    said = await moving.refused("continue", name=name, prompt="x")
    assert f"which now leads to {renamed}" in said


async def test_a_record_that_still_holds_a_link_goes_on_as_long_as_that_has_not_moved(
    moving: Daemon,
) -> None:
    """Issue 9, 22: as earlier versions wrote it."""
    session = await moving.run(HERE, dir=str(moving.root / "link"))
    name = session["name"]
    assert moving.stop() == 0
    write_link(moving, session["session_id"])
    moving.start()
    reply = await moving.must("continue", name=name, prompt=HERE)
    assert reply["dir"] == str(moving.root / "first")
    await moving.ended(name)
    assert moving.stop() == 0
    write_link(moving, session["session_id"])
    turn_the_link(moving)
    moving.start()
    said = await moving.refused("continue", name=name, prompt="x")
    assert f"which now leads to {moving.root / 'second'}" in said


def write_link(world: Daemon, session_id: str) -> None:
    file = world.state_dir / "sessions" / session_id / "record.json"
    record = json.loads(file.read_bytes())
    file.write_text(json.dumps({**record, "dir": str(world.root / "link")}))
