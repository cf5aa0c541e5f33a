"""README's "Run it", command for command."""

from __future__ import annotations

import stat
from pathlib import Path

from support.readme import ReadmeDaemon
from support.stub import STUB, bash, script


async def test_the_commands_of_the_readme_start_a_daemon_that_writes_usual_files(
    tmp_path: Path,
) -> None:
    """Issue 9, 25: a umask for the token was left to the daemon, and all its files were 0600."""
    world = ReadmeDaemon(tmp_path, STUB)
    world.begin_serving()
    try:
        written = world.home / "src" / "written.txt"
        session = await world.run(script(bash(f"echo x > {written}")))
        assert (session["state"], session["dir"]) == ("idle", str(world.home / "src"))
        assert stat.S_IMODE(written.stat().st_mode) == 0o644
        assert stat.S_IMODE((world.home / "hive" / "token").stat().st_mode) == 0o600
    finally:
        assert world.stop() == 0, world.log
    assert world.children() == {}
