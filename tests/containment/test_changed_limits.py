"""A run may change every limit, having its daemon's user: what holds is told, not what was set.

Plain files stand in for the kernel; vm-tests/scenarios/hostile.py has the real one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hive_subagent.containment import Containment, Hierarchy
from hive_subagent.errors import Refused

from .plain import PlainDirectories, plain_containment, plain_unit


@pytest.fixture
async def contained(
    anyio_backend: str, tmp_path: Path, identity: str
) -> AsyncIterator[Containment]:
    async with plain_containment(tmp_path, identity) as made:
        yield made


async def test_a_limit_that_was_lifted_is_not_reported_as_holding(
    contained: Containment, unit: Path, caplog: pytest.LogCaptureFixture
) -> None:
    enclosure = contained.open("one", memory_max=1 << 20)
    assert (enclosure.usage().memory_max_bytes, enclosure.usage().memory_max_lost) == (
        1 << 20,
        None,
    )
    (unit / "run-one/memory.max").write_text("max\n")

    await enclosure.end()

    assert (enclosure.usage().memory_max_bytes, enclosure.usage().memory_max_lost) == (
        None,
        1 << 20,
    )


async def test_a_limit_that_is_as_it_was_set_is_no_news(
    contained: Containment, unit: Path, caplog: pytest.LogCaptureFixture
) -> None:
    enclosure = contained.open("one", memory_max=1 << 20)
    await enclosure.end()
    assert enclosure.usage().memory_max_bytes == 1 << 20
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


async def test_controllers_switched_off_are_logged_and_no_memory_limit_is_promised(
    anyio_backend: str, tmp_path: Path, identity: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 10, 18: nothing limits the processes of such a run."""

    class WithoutLimits(PlainDirectories):
        def make(self, path: Path) -> None:
            super().make(path)
            if path.name.startswith("run-"):
                (path / "memory.max").unlink()
                (path / "pids.max").unlink()

    hierarchy, unit = plain_unit(tmp_path)
    hierarchy = Hierarchy(root=hierarchy.root, own=hierarchy.own, directories=WithoutLimits())
    containment = Containment.create(identity=identity, hierarchy=hierarchy)
    (unit / "cgroup.subtree_control").write_text("cpu\n")
    with pytest.raises(Refused, match=r"not taken: .* memory, pids .*; restart the service"):
        containment.open("limited", memory_max=1 << 20)
    assert not caplog.records
    containment.open("unlimited")
    assert (
        "limits are missing: a subagent, most likely, has switched off memory, pids" in caplog.text
    )
