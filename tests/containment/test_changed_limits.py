"""A run may change every limit, having its daemon's user: what holds is told, not what was set.

Plain files stand in for the kernel; vm-tests/scenarios/hostile.py has the real one.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hive_subagent.containment import Containment
from hive_subagent.errors import Refused

from .conftest import gone
from .plain import plain_containment


@pytest.fixture
async def contained(
    anyio_backend: str, tmp_path: Path, identity: str
) -> AsyncIterator[Containment]:
    async with plain_containment(tmp_path, identity) as made:
        yield made


async def test_a_limit_that_was_lifted_is_not_told_as_holding(
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
    assert "run one: its memory.max was set to 1048576 and is max at its end" in caplog.text


async def test_a_limit_that_is_as_it_was_set_is_no_news(
    contained: Containment, unit: Path, caplog: pytest.LogCaptureFixture
) -> None:
    enclosure = contained.open("one", memory_max=1 << 20)
    await enclosure.end()
    assert enclosure.usage().memory_max_bytes == 1 << 20
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


async def test_controllers_that_were_switched_off_are_on_for_the_next_run_and_all_before_it(
    contained: Containment, unit: Path, caplog: pytest.LogCaptureFixture
) -> None:
    contained.open("one", memory_max=1 << 20)
    (unit / "run-one/memory.max").write_text("max\n")  # as it is after an off and an on
    (unit / "cgroup.subtree_control").write_text("cpu pids\n")

    contained.open("two", memory_max=2 << 20)

    assert (unit / "cgroup.subtree_control").read_text() == "+memory"
    assert (unit / "run-one/memory.max").read_text() == str(1 << 20)
    assert (unit / "run-two/memory.max").read_text() == str(2 << 20)
    assert "had switched memory off" in caplog.text


async def test_where_they_cannot_be_switched_on_again_a_limit_is_refused_with_the_mend(
    contained: Containment, unit: Path
) -> None:
    """The kernel says EBUSY while somebody sits in the unit itself; who does is ended for it."""
    (unit / "cgroup.subtree_control").unlink()
    (unit / "cgroup.subtree_control").mkdir()
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as moved:
        (unit / "cgroup.procs").write_text(f"{moved.pid}\n")

        with pytest.raises(Refused, match=r"memory_max: no cgroup .* restart the unit"):
            contained.open("limited", memory_max=1 << 20)

        await gone(moved.pid)
        assert moved.wait() == -signal.SIGKILL
    assert contained.open("free").kind == "cgroup"
