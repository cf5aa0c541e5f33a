"""A run shuts its cgroup: its owner opens it again, or says that it cannot look.

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


@pytest.mark.parametrize("shut", [".", "cgroup.procs", "cgroup.kill", "deep", "..", "../.."])
async def test_a_shut_leaf_is_opened_again_and_ended(
    contained: Containment, unit: Path, unmarked: subprocess.Popen[bytes], shut: str
) -> None:
    enclosure, leaf = contained.open("one"), unit / "run-one"
    (leaf / "cgroup.kill").write_text("")
    (leaf / "deep").mkdir()
    (leaf / "deep/cgroup.procs").write_text(f"{unmarked.pid}\n")
    (leaf / shut).resolve().chmod(0)

    killed = await enclosure.end()

    assert [info.pid for info in killed] == [unmarked.pid]
    assert unmarked.wait() == -signal.SIGKILL
    assert (leaf / "cgroup.kill").read_text() == "1"
    enclosure.close()
    assert not leaf.exists()


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


async def test_counters_that_were_shut_are_read_all_the_same(
    contained: Containment, unit: Path
) -> None:
    enclosure, leaf = contained.open("one"), unit / "run-one"
    set_events(leaf, oom=1, oom_kill=1)
    (leaf / "memory.events").chmod(0)

    await enclosure.end()

    assert (enclosure.usage().oom_kills, enclosure.usage().oom_scope) == (1, "run")


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
