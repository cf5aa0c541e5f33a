"""A run shuts its cgroup: the daemon says that it cannot look, and claims nothing.

Plain files stand in for the kernel.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hive_subagent.containment import Containment

from .capabilities import mode_bits_obeyed
from .conftest import BASE_ENVIRONMENT, until
from .plain import plain_containment, set_events


@pytest.fixture
async def contained(
    anyio_backend: str, tmp_path: Path, identity: str
) -> AsyncIterator[Containment]:
    async with plain_containment(tmp_path, identity, memory_max=512 << 20, bound_s=0.5) as made:
        with mode_bits_obeyed():
            yield made
            await made.end_everything()


@pytest.fixture
def unmarked() -> Iterator[subprocess.Popen[bytes]]:
    """A process that nothing but its cgroup names as a run's."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        yield process
        process.kill()


async def test_the_end_of_a_shut_leaf_kills_what_is_marked_and_claims_no_more(
    contained: Containment, unit: Path, unmarked: subprocess.Popen[bytes]
) -> None:
    enclosure, leaf = contained.open("one"), unit / "run-one"
    with subprocess.Popen(
        enclosure.launcher(["sleep", "10"]),
        env={**BASE_ENVIRONMENT, **enclosure.environment},
        start_new_session=True,
    ) as root:
        enclosure.adopt(root.pid)
        await until(lambda: (leaf / "cgroup.procs").read_text() == "0\n")
        (leaf / "cgroup.procs").write_text(f"{unmarked.pid}\n")
        leaf.chmod(0)
        assert [info.pid for info in await enclosure.end()] == [root.pid]
        assert "nobody can look" in enclosure.remains
    leaf.chmod(0o700)
    assert [info.pid for info in await enclosure.end()] == [unmarked.pid]
    assert (unmarked.wait(), enclosure.remains) == (-signal.SIGKILL, "")


async def test_an_end_that_cannot_look_is_not_claimed_and_says_why(
    contained: Containment,
    unit: Path,
    unmarked: subprocess.Popen[bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    enclosure, leaf = contained.open("one"), unit / "run-one"
    (leaf / "cgroup.procs").unlink()
    (leaf / "cgroup.procs").mkdir()
    set_events(leaf, "cgroup.events", populated=1)

    assert await enclosure.end() == []

    [told] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert told.message == (
        "run one: cannot look whether all of it is dead, so something may live on:"
        f" {leaf / 'cgroup.procs'}: Is a directory"
    )
    set_events(leaf, "cgroup.events", populated=0)
    (leaf / "cgroup.procs").rmdir()
    (leaf / "cgroup.procs").write_text(f"{unmarked.pid}\n")
    assert [info.pid for info in await enclosure.end()] == [unmarked.pid], "tried again"


async def test_a_leaf_that_the_kernel_calls_inhabited_is_not_taken_for_empty(
    contained: Containment, unit: Path, caplog: pytest.LogCaptureFixture
) -> None:
    enclosure, leaf = contained.open("one"), unit / "run-one"
    set_events(leaf, "cgroup.events", populated=1)

    assert await enclosure.end() == []

    assert f"{leaf}: the kernel says that somebody lives in it" in caplog.text
    set_events(leaf, "cgroup.events", populated=0)


async def test_counters_that_are_gone_make_the_account_unknown(
    contained: Containment, unit: Path
) -> None:
    enclosure, leaf = contained.open("one"), unit / "run-one"
    (leaf / "memory.events").unlink()
    await enclosure.end()
    usage = enclosure.usage()
    assert (usage.oom_kills, usage.oom_survived) == (None, None)


async def test_figures_of_a_run_that_cannot_be_looked_at_break_nothing(
    contained: Containment, unit: Path
) -> None:
    enclosure, leaf = contained.open("one"), unit / "run-one"
    (leaf / "cgroup.procs").unlink()
    (leaf / "cgroup.procs").mkdir()
    set_events(leaf, "cgroup.events", populated=1)
    assert enclosure.usage().running == 0
    with pytest.raises(IsADirectoryError):
        enclosure.processes()
    set_events(leaf, "cgroup.events", populated=0)
    (leaf / "cgroup.procs").rmdir()
