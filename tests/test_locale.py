"""A locale that is not UTF-8."""

from __future__ import annotations

import json

import pytest
from support.daemon import Daemon
from support.stub import script

# Python takes the C locale for UTF-8 unless it is told not to; other locales need not be installed
ASCII = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("name", ["straße", "目录"])
async def test_a_directory_is_found_whatever_the_locale_is(world: Daemon, name: str) -> None:
    """Issue 9, 24: it was called missing."""
    world.environment |= ASCII
    (world.work_dir / name).mkdir()
    world.start()
    session = await world.run(script({"echo_env": True}), dir=str(world.work_dir / name))
    assert session["dir"] == str(world.work_dir / name)
    assert json.loads(session["result"])["LC_ALL"] == "C"
    assert world.stop() == 0


async def test_the_locale_archive_and_the_time_zones_reach_a_child(world: Daemon) -> None:
    """Issue 9, 24: on NixOS they are found by these alone."""
    given = {"LOCALE_ARCHIVE": "/run/locale-archive", "TZDIR": "/etc/zoneinfo"}
    world.environment |= given
    world.start()
    session = await world.run(script({"echo_env": True}))
    assert given.items() <= json.loads(session["result"]).items()
