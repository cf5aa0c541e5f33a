"""What an ended run leaves alive: nothing, however it was started."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess

import pytest
from support.programs import BASH, SETSID, SLEEP

from hive_subagent.containment import Containment, Hierarchy, proc

from .conftest import BASE_ENVIRONMENT, Run, exists, gone, is_alive, until

FOREVER = f"exec {SLEEP} 1000"

ESCAPES = {
    "a plain child": f"bash -c 'echo $$; {FOREVER}' & ",
    "a session of its own": f"setsid bash -c 'echo $$; {FOREVER}' & ",
    "nohup": f"nohup bash -c 'echo $$; {FOREVER}' & ",
    "a double fork": f"( setsid bash -c 'echo $$; {FOREVER}' & ) & ",
    "a process that ignores SIGTERM": (
        "setsid bash -c 'trap \"\" TERM HUP INT; echo $$; while :; do sleep 1000; done' & "
    ),
    "a wiped environment": f"env -i {BASH} -c 'echo $$; {FOREVER}' & ",
    "a wiped environment after a double fork": (
        f"( env -i {SETSID} {BASH} -c 'echo $$; {FOREVER}' & ) & "
    ),
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
async def test_nothing_survives_the_end_of_a_run(run: Run, escape: str) -> None:
    """R10: whatever its descendants did to get away, while the root still lives."""
    started = run(escape + FOREVER)
    grandchild = int(await started.line())

    killed = await started.enclosure.end()

    assert {started.pid, grandchild} <= {info.pid for info in killed}
    assert not is_alive(grandchild)
    assert started.enclosure.processes() == []
    assert await started.exited() == -signal.SIGKILL


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
async def test_nothing_survives_a_run_whose_root_is_gone(run: Run, escape: str) -> None:
    """R10: the root has exited and been waited for, so all of its children are orphans."""
    started = run(escape + "disown -a; exit 0")
    grandchild = int(await started.line())
    assert await started.exited() == 0
    assert is_alive(grandchild)

    killed = await started.enclosure.end()

    assert grandchild in {info.pid for info in killed}
    assert not is_alive(grandchild)


async def test_a_zombie_root_that_is_not_reaped_yet_does_not_delay_the_end(run: Run) -> None:
    started = run(f"setsid bash -c 'echo $$; {FOREVER}' & disown -a; exit 3")
    grandchild = int(await started.line())
    await gone(started.pid)

    killed = await started.enclosure.end()

    assert [info.pid for info in killed] == [grandchild]
    assert await started.exited() == 3, "the root's exit belongs to its spawner"


async def test_killed_processes_are_reported_with_command_root_first(run: Run) -> None:
    started = run("sleep 1001 & setsid sleep 1002 & echo ready; wait")
    await started.line()
    # one that is caught between fork and exec has another name
    sleeps = {"sleep 1001", "sleep 1002"}
    await until(lambda: sleeps < {p.command for p in started.enclosure.processes()})

    first, *others = await started.enclosure.end()

    assert first.pid == started.pid
    assert first.command.startswith("bash -c sleep 1001")
    assert {info.command for info in others} == sleeps


async def test_a_long_command_is_cut(run: Run) -> None:
    started = run(f"setsid sleep 1000 {'0' * 5000} & echo ready; wait")
    await started.line()

    # one that is caught between fork and exec has a short name
    assert max(len(info.command) for info in await started.enclosure.end()) == proc.COMMAND_CUT


async def test_a_run_that_forks_while_it_is_being_ended_is_ended_all_the_same(run: Run) -> None:
    """R10: the number of forks is bounded, so that a failure does not take the machine."""
    started = run(
        "echo ready; for ((i = 0; i < 3000; i++)); do setsid sleep 1000 & sleep 0.002; done; wait"
    )
    await started.line()

    await started.enclosure.end()

    assert started.enclosure.processes() == []
    assert started.enclosure.remains == ""


async def test_a_chain_that_lives_by_forking_and_exiting_is_broken(run: Run) -> None:
    """R10: each link starts the next and exits, so that no pid lives long; 3000 links at most."""
    link = 'n=$1; [ "$n" -gt 0 ] && "$0" -c "$2" "$0" $((n - 1)) "$2" & exit 0'
    started = run(["bash", "-c", 'echo ready; bash -c "$1" bash 3000 "$1"; exit 0', "x", link])
    await started.line()

    await started.enclosure.end()

    assert started.enclosure.processes() == []
    assert started.enclosure.remains == ""


async def test_a_chain_that_also_leaves_its_session_at_every_link_is_broken(run: Run) -> None:
    """R10: no group to kill at once, no parent to follow; 3000 links at most."""
    link = 'n=$1; [ "$n" -gt 0 ] && setsid "$0" -c "$2" "$0" $((n - 1)) "$2" & exit 0'
    started = run(["bash", "-c", 'echo ready; bash -c "$1" bash 3000 "$1"; exit 0', "x", link])
    await started.line()

    await started.enclosure.end()

    assert started.enclosure.processes() == []
    assert started.enclosure.remains == ""


async def test_an_end_that_is_given_no_time_kills_what_it_finds_all_the_same(
    run: Run, identity: str, hierarchy: Hierarchy
) -> None:
    hurried = Containment.create(identity=identity + "x", bound_s=1e-9, hierarchy=hierarchy)
    started = run(f"setsid bash -c 'echo $$; {FOREVER}' & {FOREVER}", within=hurried)
    grandchild = int(await started.line())

    await started.enclosure.end()

    await gone(grandchild)
    assert await started.exited() == -signal.SIGKILL


async def test_a_run_of_many_processes_is_killed_and_reported_in_full(run: Run) -> None:
    """More than are held open at once."""
    started = run(f"for i in $(seq 400); do sleep 1000 & done; echo ready; {FOREVER}")
    await started.line()

    killed = await started.enclosure.end()

    assert len(killed) == len({info.pid for info in killed}) == 401
    assert not any(is_alive(info.pid) for info in killed)


async def test_a_sibling_run_is_not_touched(run: Run) -> None:
    """R15, R16: the end of one run is nobody else's."""
    ours, sibling = run(f"sleep 1003 & echo ready; {FOREVER}"), run(f"echo ready; {FOREVER}")
    await ours.line()
    await sibling.line()

    killed = await ours.enclosure.end()

    assert sibling.pid not in {info.pid for info in killed}
    assert is_alive(sibling.pid)
    assert [info.pid for info in sibling.enclosure.processes()] == [sibling.pid]


async def test_a_process_of_no_run_is_not_touched(run: Run) -> None:
    """R16: a child of this process that was never a run's stays alive."""
    bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        started = run(FOREVER)
        await started.enclosure.end()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


async def test_ending_twice_and_at_once_says_the_same(run: Run) -> None:
    started = run(f"sleep 1000 & echo ready; {FOREVER}")
    await started.line()

    first, second = await asyncio.gather(started.enclosure.end(), started.enclosure.end())

    assert first == second == await started.enclosure.end()
    assert started.pid in {info.pid for info in first}


async def test_a_cancelled_caller_does_not_stop_the_end(run: Run) -> None:
    """R12: the task that asked for it is cancelled at its first await."""
    started = run(f"setsid bash -c 'echo $$; {FOREVER}' & {FOREVER}")
    grandchild = int(await started.line())
    caller = asyncio.create_task(started.enclosure.end())
    await asyncio.sleep(0)

    caller.cancel()

    await gone(grandchild)
    assert await started.exited() == -signal.SIGKILL


async def test_a_run_that_was_never_spawned_ends_at_once(containment: Containment) -> None:
    enclosure = containment.open("never")

    assert await enclosure.end() == []

    enclosure.close()
    enclosure.close()
    containment.open("never").close()


def test_a_run_id_is_not_open_twice(identity: str) -> None:
    containment = Containment.create(identity=identity)
    containment.open("twice")
    with pytest.raises(ValueError, match="open already"):
        containment.open("twice")


async def test_the_marker_names_identity_and_run(run: Run, identity: str) -> None:
    started = run('echo "$HIVE_SUBAGENT_RUN"', run_id="r1")
    assert await started.line() == f"{identity}:r1"


async def test_the_launcher_adds_nothing_to_the_environment(run: Run) -> None:
    started = run(["env"], environment={**BASE_ENVIRONMENT, "LANG": "C"})
    names = set()
    while line := await started.line():
        names.add(line.split("=")[0])
    assert names - {"_"} == {*BASE_ENVIRONMENT, "LANG", "HIVE_SUBAGENT_RUN"}


async def test_the_launcher_passes_arguments_and_exit_code_untouched(run: Run) -> None:
    awkward = ["-x", "", "a b", "$HOME", "'", '"', "--", "*", "\n"]
    script = "import sys; print(sys.argv[1:]); sys.exit(7)"
    started = run(["python3", "-c", script, *awkward])
    assert await started.line() == str(awkward)
    assert await started.exited() == 7


async def test_a_run_is_the_first_to_die_of_a_limit_on_the_whole_service(run: Run) -> None:
    """R15."""
    started = run("cat /proc/self/oom_score_adj")
    assert int(await started.line()) >= 500


async def test_adopted_zombies_are_reaped_and_the_root_is_not(run: Run) -> None:
    started = run("for i in 1 2 3; do ( setsid bash -c 'echo $$' & ) ; done; exec sleep 1000")
    orphans = [int(await started.line()) for _ in range(3)]

    for orphan in orphans:
        await gone(orphan)
    await until(lambda: not any(map(exists, orphans)))

    os.kill(started.pid, signal.SIGKILL)
    assert await started.exited() == -signal.SIGKILL


async def test_two_hundred_runs_one_after_another_leak_no_descriptor(
    containment: Containment,
) -> None:
    async def one() -> None:
        enclosure = containment.open(secrets.token_hex(4))
        process = subprocess.Popen(
            enclosure.launcher(["sleep", "1000"]),
            env={**BASE_ENVIRONMENT, **enclosure.environment},
            start_new_session=True,
        )
        enclosure.adopt(process.pid)
        assert [info.pid for info in await enclosure.end()] == [process.pid]
        process.wait()
        enclosure.close()

    await one()  # the first opens the descriptor of all watches, which stays
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        await one()
    assert len(os.listdir("/proc/self/fd")) == before


async def test_the_time_a_run_has_used_grows_and_is_kept_after_its_end(run: Run) -> None:
    """R8: beside an age that climbs, this tells a long build from a wedge."""
    started = run("sleep 1000 & for ((i = 0; i < 200000; i++)); do :; done; echo done; wait")
    await started.line()

    usage = started.enclosure.usage()

    assert usage.cpu_s is not None
    assert usage.cpu_s > 0
    assert usage.running + usage.sleeping == 2
    os.kill(started.pid, signal.SIGSTOP)
    await until(lambda: started.enclosure.usage().stopped == 1)
    assert started.enclosure.usage().sleeping == 1
    await started.enclosure.end()
    after = started.enclosure.usage()
    assert after.cpu_s is not None
    assert after.cpu_s >= usage.cpu_s
    assert (after.running, after.sleeping) == (0, 0)
