"""The cgroup form where plain files stand in for the kernel: figures, limits and ends."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.faults import no_descriptors

from hive_subagent.containment import Containment

from .conftest import is_alive, spawn, until
from .plain import plain_containment, set_events


@pytest.fixture
async def contained(
    anyio_backend: str, tmp_path: Path, identity: str
) -> AsyncIterator[Containment]:
    async with plain_containment(tmp_path, identity, memory_max=512 << 20) as made:
        yield made


def enter(leaf: Path, *pids: int) -> None:
    """What the kernel makes of a 0 written to cgroup.procs."""
    (leaf / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))


async def test_the_root_enters_its_leaf_before_it_runs(contained: Containment, unit: Path) -> None:
    leaf = unit / "run-one"
    with spawn(contained.open("one"), "cat", str(leaf / "cgroup.procs")) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"0\n"


async def test_what_cannot_enter_its_leaf_does_not_run_and_says_so_in_one_line(
    contained: Containment, unit: Path, tmp_path: Path
) -> None:
    enclosure = contained.open("one")
    (unit / "run-one/cgroup.procs").unlink()
    (unit / "run-one/cgroup.procs").mkdir()

    with spawn(enclosure, "touch", str(tmp_path / "ran")) as process:
        _, errors = process.communicate(timeout=20)

    assert process.returncode == 125
    assert errors.decode() == f"hive-subagent: cannot enter cgroup {unit / 'run-one'}\n"
    assert not (tmp_path / "ran").exists()


async def test_what_is_in_the_leaf_is_the_runs_without_any_mark(
    contained: Containment, unit: Path
) -> None:
    """R10: a process with no marker, no stamp, and no parent of the run."""
    enclosure = contained.open("one")
    with (
        spawn(enclosure, "sleep", "1000") as root,
        subprocess.Popen(["sleep", "1000"], start_new_session=True) as unmarked,
    ):
        # the root writes into the same file on its way in
        await until(lambda: (unit / "run-one/cgroup.procs").read_text() == "0\n")
        enter(unit / "run-one", unmarked.pid, root.pid)
        assert [info.pid for info in enclosure.processes()] == [root.pid, unmarked.pid]

        killed = await enclosure.end()

        assert [info.pid for info in killed] == [root.pid, unmarked.pid]
        assert unmarked.wait() == root.wait() == -signal.SIGKILL


async def test_a_nested_cgroup_is_part_of_the_run_and_is_removed_with_it(
    contained: Containment, unit: Path
) -> None:
    enclosure = contained.open("one")
    nested = unit / "run-one/deep/deeper"
    nested.mkdir(parents=True)
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as unmarked:
        enter(nested, unmarked.pid)
        assert [info.pid for info in await enclosure.end()] == [unmarked.pid]

    enclosure.close()

    assert not (unit / "run-one").exists()


async def test_a_run_reads_peak_limit_and_cpu_time_from_its_leaf_and_keeps_them(
    contained: Containment, unit: Path
) -> None:
    enclosure, leaf = contained.open("one"), unit / "run-one"
    (leaf / "memory.peak").write_text("123456789\n")
    (leaf / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")

    await enclosure.end()
    enclosure.close()

    usage = enclosure.usage()
    assert usage.peak_memory_bytes == 123456789
    assert usage.memory_max_bytes == 512 << 20
    assert usage.cpu_s == 2.5
    assert (usage.oom_kills, usage.oom_survived, usage.oom_scope) == (0, 0, None)


async def test_a_kernel_without_memory_peak_gives_none(contained: Containment, unit: Path) -> None:
    enclosure = contained.open("one")
    (unit / "run-one/memory.peak").unlink()
    assert enclosure.usage().peak_memory_bytes is None


async def test_the_next_daemon_ends_what_sits_in_leaves_and_removes_them(
    contained: Containment, unit: Path, tmp_path: Path
) -> None:
    """R11: leaves of a predecessor that crashed, with a process that carries no mark."""
    leaf = unit / "run-old"
    leaf.mkdir()
    (leaf / "nested").mkdir()
    mine = contained.open("mine")
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as left:
        enter(leaf / "nested", left.pid)

        swept = await contained.sweep_leftovers()

        assert [info.pid for info in swept] == [left.pid]
        assert not is_alive(left.pid)
    assert not leaf.exists()
    assert (unit / "run-mine").exists()
    mine.close()


async def test_a_hundred_runs_leave_no_leaf_and_no_descriptor(
    contained: Containment, unit: Path
) -> None:
    async def run() -> None:
        enclosure = contained.open(secrets.token_hex(4))
        await enclosure.end()
        enclosure.close()

    # the first may import ctypes, whose libffi keeps a descriptor of its own file
    await run()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        await run()
    assert len(os.listdir("/proc/self/fd")) == before
    assert not [name for name in os.listdir(unit) if name.startswith("run-")]


async def test_processes_refused_at_the_limit_are_counted_and_logged(
    contained: Containment, unit: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 10, 18."""
    enclosure, leaf = contained.open("one"), unit / "run-one"
    assert enclosure.usage().pids_refused == 0
    (leaf / "pids.max").write_text("574\n")
    (leaf / "pids.events").write_text("max 12\n")
    usage = enclosure.usage()
    assert (usage.pids_max, usage.pids_refused) == (574, 12)
    await enclosure.end()
    assert "refused it 12 processes or threads at its limit of 574" in caplog.text
    enclosure.close()


async def test_a_leaf_that_froze_itself_is_seen_to_be_frozen(
    contained: Containment, unit: Path
) -> None:
    """Issue 10, 19."""
    enclosure = contained.open("one")
    assert not enclosure.usage().frozen
    (unit / "run-one/cgroup.events").write_text("populated 1\nfrozen 1\n")
    assert enclosure.usage().frozen
    (unit / "run-one/cgroup.events").write_text("populated 0\nfrozen 0\n")
    await enclosure.end()
    enclosure.close()


async def test_memory_of_no_living_run_is_what_the_unit_has_beyond_its_leaves(
    contained: Containment, unit: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 10, 20: files in /dev/shm outlive their run, and the next one dies of them."""
    enclosure = contained.open("one")
    assert contained.left_memory() == 0
    (unit / "memory.stat").write_text(f"anon 5\nshmem {300 << 20}\n")
    (unit / "run-one/memory.stat").write_text(f"anon 5\nshmem {100 << 20}\n")
    assert contained.left_memory() == 200 << 20
    set_events(unit, "memory.events.local", oom=1, oom_kill=0)
    set_events(unit / "run-one", oom=0, oom_kill=1)
    usage = enclosure.usage()
    assert (usage.oom_scope, usage.left_memory_bytes) == ("service", 200 << 20)
    await enclosure.end()
    enclosure.close()
    assert "300 MiB of shared memory belong to no living run" in caplog.text
    assert caplog.text.count("belong to no living run") == 1


async def test_without_descriptors_figures_are_unknown_and_every_run_ends(
    contained: Containment, unit: Path
) -> None:
    """Issue 10: the daemon looks at each quiet run once, and ended with the first that failed."""
    enclosure, leaf = contained.open("one", memory_max=1 << 20), unit / "run-one"
    (leaf / "cpu.stat").write_text("usage_usec 2500000\n")
    with no_descriptors():
        usage = enclosure.usage()
        assert (usage.cpu_s, usage.oom_kills, usage.memory_max_bytes) == (None, None, None)
        assert contained.left_memory() is None
        assert await enclosure.end() == []
    await enclosure.end()
    assert enclosure.usage().cpu_s == 2.5
    with no_descriptors():
        enclosure.close()
