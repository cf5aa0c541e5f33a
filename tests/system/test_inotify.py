"""Word of changed files, from the kernel itself."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest
from support import processes

from hive_subagent.system.inotify import WRITTEN_OR_MOVED_IN, Watches


async def test_a_follower_that_fails_costs_the_others_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []

    def fail() -> None:
        told.append("failing")
        raise RuntimeError("no room")

    watches = Watches()
    handles = []
    for name in ("before", "failing", "after"):
        (tmp_path / name).touch()
        follow = fail if name == "failing" else partial(told.append, name)
        handles.append(watches.add(tmp_path / name, follow))
    for name in ("before", "failing", "after"):
        (tmp_path / name).write_text("changed")
    await processes.until(lambda: set(told) == {"before", "failing", "after"}, "all three")
    assert "a change of a file could not be followed" in caplog.text
    for handle in handles:
        watches.remove(handle)


async def test_a_file_is_reported_when_it_is_whole_and_not_before(tmp_path: Path) -> None:
    told = anyio.Event()
    watches = Watches()
    handle = watches.add(tmp_path, told.set, mask=WRITTEN_OR_MOVED_IN)
    with (tmp_path / "half").open("w") as half:
        half.write("half")
        half.flush()
        await anyio.lowlevel.checkpoint()
        assert not told.is_set()
    with anyio.fail_after(processes.PATIENCE_S):
        await told.wait()
    watches.remove(handle)


async def test_what_is_no_longer_watched_or_cannot_be_is_not_reported(tmp_path: Path) -> None:
    told: list[str] = []
    watches = Watches()
    (tmp_path / "left").touch()
    (tmp_path / "kept").touch()
    assert watches.add(tmp_path / "missing", lambda: told.append("missing")) is None
    left = watches.add(tmp_path / "left", lambda: told.append("left"))
    kept = watches.add(tmp_path / "kept", lambda: told.append("kept"))
    watches.remove(left)
    watches.remove(left)
    (tmp_path / "left").write_text("changed")
    (tmp_path / "kept").write_text("changed")
    await processes.until(lambda: "kept" in told, "the one that is watched")
    assert "left" not in told
    watches.remove(kept)
