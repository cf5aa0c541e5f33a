"""Daemons side by side, one inside another, and one that crashed."""

from __future__ import annotations

import sys

import pytest
from support.programs import BASH, SETSID, SLEEP

from hive_subagent.containment import Containment

from .conftest import Run, gone, is_alive
from .hosting import HOST, hosted

FOREVER = f"exec {SLEEP} 1000"
FAMILY = f"""
bash -c 'echo $$; {FOREVER}' &
setsid bash -c 'echo $$; {FOREVER}' &
( setsid bash -c 'trap "" TERM; echo $$; while :; do sleep 1000; done' & )
( env -i {SETSID} {BASH} -c 'echo $$; {FOREVER}' & )
sleep 0.3; echo ready; {FOREVER}
"""
# nothing is left of the run by which it could be told: no environment, no stamp, no parent
UNMARKED = f"""
( env -i {SETSID} {BASH} -c 'ulimit -S -x unlimited
  {SETSID} {BASH} -c "echo \\$\\$; {FOREVER}" & exit' & )
sleep 0.3; echo ready
"""


@pytest.fixture
def other_identity(identity: str) -> str:
    return "0" + identity


async def test_a_crash_leaves_children_and_the_next_daemon_ends_them_all(
    containment: Containment, identity: str
) -> None:
    """R11: the predecessor dies by SIGKILL in the middle of a run."""
    async with hosted(identity, FAMILY) as host:
        host.process.kill()
        await gone(host.process.pid)
        assert all(map(is_alive, [host.root, *host.said]))

        swept = {info.pid for info in await containment.sweep_leftovers()}

        assert {host.root, *host.said} <= swept
        assert not any(map(is_alive, [host.root, *host.said]))
        assert await containment.sweep_leftovers() == []


async def test_the_daemons_stop_leaves_nothing(identity: str) -> None:
    """R11: a stop, with a run that was never ended."""
    async with hosted(identity, FAMILY) as host:
        died = await host.ask("everything")
        assert {host.root, *host.said} <= set(died)
        assert not any(map(is_alive, [host.root, *host.said]))


async def test_another_daemons_children_are_never_touched(
    containment: Containment, run: Run, other_identity: str
) -> None:
    """R11: neither by an end, nor by a sweep, nor by the stop; alive or orphaned."""
    async with hosted(other_identity, FAMILY) as other:
        others = [other.root, *other.said]
        started = run(FOREVER)

        for died in (
            await started.enclosure.end(),
            await containment.sweep_leftovers(),
            await containment.end_everything(),
        ):
            assert not {info.pid for info in died} & set(others)
        assert all(map(is_alive, others))

        other.process.kill()
        await gone(other.process.pid)  # its orphans hang under this process now
        assert await containment.end_everything() == []
        assert all(map(is_alive, others))

        successor = Containment.create(identity=other_identity)
        assert {info.pid for info in await successor.sweep_leftovers()} >= set(others)


async def test_a_daemon_inside_a_run_dies_with_it_and_so_do_its_children(
    run: Run, other_identity: str
) -> None:
    """R10: the nested daemon's children carry only its own marker."""
    argv = [sys.executable, str(HOST), other_identity, "no", FAMILY]
    started = run(["bash", "-c", '"$@" & wait', "x", *argv])
    pids = []
    while (line := await started.line()) != "ready null":
        pids.append(int(line.split()[1].strip('"')))

    died = {info.pid for info in await started.enclosure.end()}

    assert set(pids) <= died
    assert not any(map(is_alive, pids))


async def test_an_orphan_without_any_mark_ends_with_the_only_open_run(identity: str) -> None:
    """R10: for a daemon that starts nothing but runs, what it adopts can only be theirs."""
    async with hosted(identity, UNMARKED, strays=True) as host:
        [orphan] = host.said
        assert orphan in await host.ask("end")
        assert not is_alive(orphan)
