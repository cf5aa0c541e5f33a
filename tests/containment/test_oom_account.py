"""Deaths by the kernel's want of memory, read from plain files that stand in for it."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hive_subagent.containment import Containment, cgroup
from hive_subagent.containment.cgroup import OomAccount
from hive_subagent.containment.cgroupfs import Cgroup
from hive_subagent.system.inotify import Watches

from .conftest import spawn, until
from .plain import PlainDirectories, plain_containment, plain_unit, set_events


@pytest.fixture
async def contained(
    anyio_backend: str, tmp_path: Path, identity: str
) -> AsyncIterator[Containment]:
    async with plain_containment(tmp_path, identity) as made:
        yield made


async def test_a_kill_at_the_runs_own_limit_differs_from_one_at_the_services(
    contained: Containment, unit: Path
) -> None:
    """R15: memory.events of the leaf counts both; where `oom` counts says which limit it was."""
    own, service, machine = (contained.open(name) for name in ("own", "service", "machine"))

    set_events(unit / "run-own", oom=1, oom_kill=1)
    assert own.usage().oom_scope == "run"

    set_events(unit, "memory.events.local", oom=1, oom_kill=0)
    set_events(unit / "run-service", oom=0, oom_kill=1)
    assert service.usage().oom_scope == "service"

    set_events(unit / "run-machine", oom=0, oom_kill=1)
    machine_usage = machine.usage()
    assert machine_usage.oom_scope == "service", "both died at the one limit that was hit"
    assert machine_usage.oom_kills == 1

    set_events(unit / "run-machine", oom=0, oom_kill=2)
    assert machine.usage().oom_scope == "machine"


async def test_a_plain_sigkill_is_not_a_kill_for_memory(contained: Containment, unit: Path) -> None:
    enclosure = contained.open("one")
    with spawn(enclosure, "sleep", "1000") as root:
        os.kill(root.pid, signal.SIGKILL)
        root.wait()
    await enclosure.end()
    usage = enclosure.usage()
    assert (usage.oom_kills, usage.oom_survived, usage.oom_scope) == (0, 0, None)


async def test_a_root_that_dies_with_the_kernels_kill_is_its_victim(
    contained: Containment, unit: Path
) -> None:
    enclosure = contained.open("one")
    with spawn(enclosure, "sleep", "1000") as root:
        set_events(unit / "run-one", oom=1, oom_kill=1)
        os.kill(root.pid, signal.SIGKILL)
        root.wait()

    await enclosure.end()

    usage = enclosure.usage()
    assert (usage.oom_kills, usage.oom_survived, usage.oom_scope) == (1, 0, "run")


async def test_a_root_that_outlives_the_kernels_kill_was_not_its_victim(
    contained: Containment, unit: Path
) -> None:
    """The kernel took a tool; somebody's SIGKILL later is not the kernel's."""
    enclosure = contained.open("one")
    with spawn(enclosure, "sleep", "1000") as root:
        set_events(unit / "run-one", oom=1, oom_kill=1)
        await until(lambda: enclosure.usage().oom_survived == 1)
        os.kill(root.pid, signal.SIGKILL)
        root.wait()

    await enclosure.end()

    usage = enclosure.usage()
    assert (usage.oom_kills, usage.oom_survived) == (1, 1)


async def test_a_kill_is_noticed_without_a_look(anyio_backend: str, tmp_path: Path) -> None:
    """Else one that the root outlived long ago could not be told from its own death."""
    _, unit = plain_unit(tmp_path)
    PlainDirectories().make(unit / "run-one")
    leaf = Cgroup(unit / "run-one")
    account, watches = OomAccount(leaf, Cgroup(unit), root_lives=lambda: True), Watches()
    watch = watches.add(leaf.path / "memory.events", account.update)

    set_events(leaf.path, oom=1, oom_kill=2)

    await until(lambda: account.survived == 2)
    watches.remove(watch)
    account.close()


async def test_a_lack_of_descriptors_blames_no_later_death_on_memory(
    anyio_backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool died for memory; that its root lived on was never counted."""
    monkeypatch.setattr(cgroup, "SETTLED_S", 0.01)
    _, unit = plain_unit(tmp_path)
    PlainDirectories().make(unit / "run-one")
    leaf = Cgroup(unit / "run-one")
    faults = {"unit": 0, "root": 1}

    def fails(what: str) -> None:
        if faults[what]:
            faults[what] -= 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    class Unit(Cgroup):
        def keyed(self, name: str) -> dict[str, int]:
            fails("unit")
            return Cgroup(unit).keyed(name)

    def root_lives() -> bool:
        fails("root")
        return True

    account = OomAccount(leaf, Unit(unit), root_lives=root_lives)
    faults["unit"] = 1
    set_events(leaf.path, oom=1, oom_kill=2)
    with pytest.raises(OSError, match="Too many open files"):
        account.update()
    assert (account.kills, account.scope) == (0, None)
    account.update()
    assert (account.kills, account.scope) == (2, "run")
    await until(lambda: account.survived == 2)
    assert faults == {"unit": 0, "root": 0}
    account.close()
