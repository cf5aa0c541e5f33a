"""A run moves itself to other places of the unit, wiped of everything that tells whose it is.

In the tree of plain files the test moves; where there is a cgroup v2 to write, the run does.
"""

from __future__ import annotations

import errno
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hive_subagent.containment import Containment, Enclosure, Hierarchy

from .conftest import BASE_ENVIRONMENT, MOUNTS, Run, gone, is_alive, until
from .plain import PlainDirectories, plain_unit

MOVE = """
import os, resource, sys
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
for _ in range(int(sys.argv[2])):
    os.mkdir("x" * 200)
    os.chdir("x" * 200)
with open("cgroup.procs", "w") as procs:
    procs.write("0")
resource.setrlimit(10, (resource.getrlimit(10)[1],) * 2)
print(os.getpid(), flush=True)
for fd in range(3):
    os.dup2(os.open("/dev/null", os.O_RDWR), fd)
os.execve("/bin/bash", ["bash", "-c", sys.argv[3]], {})
"""

SLEEP = "exec sleep 1000"
STORM = "for ((i = 0; i < 1000; i++)); do setsid sleep 1000 & sleep 0.002; done; exec sleep 1000"


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    return tmp_path / "our.service"


@pytest.fixture
async def contained(
    anyio_backend: str, tmp_path: Path, identity: str
) -> AsyncIterator[Containment]:
    hierarchy, _ = plain_unit(tmp_path)
    made = Containment.create(identity=identity, hierarchy=hierarchy, bound_s=2.0)
    made.start()
    yield made
    await made.end_everything()
    await made.stop()


@pytest.fixture
def wiped() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own that carries nothing."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        yield process
        process.kill()


def put(group: Path, *pids: int) -> None:
    if not group.exists():
        PlainDirectories().make(group)
    (group / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))


def spawn(enclosure: Enclosure, *argv: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        enclosure.launcher(argv),
        env={**BASE_ENVIRONMENT, **enclosure.environment},
        start_new_session=True,
    )


@pytest.mark.parametrize("place", [".", "supervisor", "supervisor/deep", "mine", "run-unknown"])
async def test_whoever_is_in_no_open_leaf_ends_with_the_next_run_that_ends(
    contained: Containment,
    unit: Path,
    wiped: subprocess.Popen[bytes],
    caplog: pytest.LogCaptureFixture,
    place: str,
) -> None:
    """R10: though another run is open, so that it cannot be told whose it was."""
    enclosure, _ = contained.open("one"), contained.open("other")
    daemon = [os.getpid()] if place in (".", "supervisor") else []
    put(unit / place, wiped.pid, *daemon)

    killed = await enclosure.end()

    assert [info.pid for info in killed] == [wiped.pid]
    assert wiped.wait() == -signal.SIGKILL
    assert f"outside the cgroups of all runs, so ended: {wiped.pid} (sleep 1000)" in caplog.text
    assert (unit / place).exists() == bool(daemon)
    assert (unit / "run-other").exists()


@pytest.mark.parametrize("place", ["supervisor", "mine"])
async def test_the_start_of_a_daemon_ends_who_has_moved(
    contained: Containment, unit: Path, wiped: subprocess.Popen[bytes], place: str
) -> None:
    """R11: its predecessor crashed, and nobody has cleaned up."""
    put(unit / place, wiped.pid)
    assert [info.pid for info in await contained.sweep_leftovers()] == [wiped.pid]


async def test_the_daemon_its_session_and_what_is_above_it_are_no_strangers(
    contained: Containment, unit: Path
) -> None:
    with subprocess.Popen(["sleep", "1000"]) as helper:
        put(unit / "supervisor", os.getpid(), os.getppid(), helper.pid)
        assert await contained.open("one").end() == []
        assert helper.poll() is None
        helper.kill()


async def test_what_the_service_manager_runs_beside_the_daemon_is_left_alone(
    contained: Containment, unit: Path, wiped: subprocess.Popen[bytes]
) -> None:
    """`.control` holds an ExecReload; but what has moved there descends from the daemon."""
    put(unit / ".control", 1)
    assert await contained.open("one").end() == []
    put(unit / ".control", 1, wiped.pid)
    assert [info.pid for info in await contained.open("two").end()] == [wiped.pid]


async def test_a_launcher_that_has_not_entered_its_leaf_yet_is_spared(
    contained: Containment, unit: Path
) -> None:
    ending, starting = contained.open("ending"), contained.open("starting")
    with spawn(starting, "sleep", "1000") as root:
        put(unit / "supervisor", root.pid)
        assert await ending.end() == []
        starting.adopt(root.pid)
        assert await contained.open("another").end() == []
        assert [info.pid for info in await starting.end()] == [root.pid]


async def test_nobody_is_judged_while_a_child_may_be_a_launcher(
    contained: Containment, unit: Path, wiped: subprocess.Popen[bytes]
) -> None:
    """Between fork and exec it carries nothing; the end waits until it is named."""
    ending, starting = contained.open("ending"), contained.open("starting")
    starting.launcher(["true"])
    put(unit / "supervisor", wiped.pid)

    assert await ending.end() == []
    assert is_alive(wiped.pid)

    starting.adopt(wiped.pid)
    assert await ending.end() == []
    assert is_alive(wiped.pid)
    assert [info.pid for info in await starting.end()] == [wiped.pid]


async def test_what_is_known_as_another_open_runs_is_left_to_its_end(
    contained: Containment, unit: Path
) -> None:
    one, other = contained.open("one"), contained.open("other")
    with spawn(other, "sleep", "1000") as root:
        other.adopt(root.pid)
        put(unit / "mine", root.pid)
        assert await one.end() == []
        assert [info.pid for info in await other.end()] == [root.pid]


async def test_who_does_not_die_holds_up_one_end_and_not_the_next(
    contained: Containment,
    unit: Path,
    wiped: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another user's, or hanging in a device."""
    put(unit / "supervisor", wiped.pid)
    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    one, two = contained.open("one"), contained.open("two")

    assert await one.end() == []
    assert [info.pid for info in one.survivors] == [wiped.pid]
    assert await two.end() == []
    assert list(two.survivors) == []


def refuse(*_: object) -> None:
    raise PermissionError


@pytest.fixture
def hierarchy() -> Iterator[Hierarchy]:
    """A real one that this process may divide."""
    root = next((m for m in MOUNTS if (m / "cgroup.controllers").exists()), None)
    if root is None or not os.access(root, os.W_OK):
        pytest.skip("needs a cgroup v2 that may be written")
    name = f"hive-subagent-test-{secrets.token_hex(4)}"
    supervisor = root / name / "supervisor"
    supervisor.mkdir(parents=True)
    try:
        yield Hierarchy(root=root, own=f"/{name}/supervisor")
    finally:
        supervisor.rmdir()
        supervisor.parent.rmdir()


@pytest.mark.parametrize("place", [".", "supervisor", "supervisor/deep", "mine", "mine/deep"])
async def test_a_run_that_moves_itself_is_ended_by_the_kernel_too(
    run: Run, hierarchy: Hierarchy, place: str
) -> None:
    """R10."""
    assert hierarchy.root is not None
    assert hierarchy.own is not None
    unit = hierarchy.root / hierarchy.own.lstrip("/").split("/")[0]
    run("exec sleep 1000")
    escaping = run([sys.executable, "-c", MOVE, str(unit / place), "0", SLEEP])
    moved = int(await escaping.line())
    assert await escaping.exited() == 0
    await until(lambda: "sleep" in Path(f"/proc/{moved}/comm").read_text())

    killed = await escaping.enclosure.end()

    assert (moved, "sleep 1000") in [(info.pid, info.command) for info in killed]
    assert not is_alive(moved)
    assert not (unit / "mine").exists()
    assert not (unit / "supervisor/deep").exists()


async def test_a_run_that_forks_in_the_daemons_own_leaf_is_ended_all_the_same(
    run: Run, hierarchy: Hierarchy
) -> None:
    """R10: there is no cgroup to be killed as a whole."""
    assert hierarchy.root is not None
    assert hierarchy.own is not None
    supervisor = hierarchy.root / hierarchy.own.lstrip("/")
    run("exec sleep 1000")
    escaping = run([sys.executable, "-c", MOVE, str(supervisor), "0", STORM])
    await escaping.line()
    await until(lambda: len((supervisor / "cgroup.procs").read_text().split()) > 20)

    await escaping.enclosure.end()

    assert (supervisor / "cgroup.procs").read_text() == ""
    assert list(escaping.enclosure.survivors) == []


async def test_who_comes_into_a_leaf_that_is_being_closed_is_ended(
    contained: Containment, unit: Path, wiped: subprocess.Popen[bytes]
) -> None:
    class Held(PlainDirectories):
        def remove(self, path: Path) -> None:
            raise OSError(errno.EBUSY, "somebody came in")

    hierarchy, _ = plain_unit(unit, subgroup="supervisor")
    held = Hierarchy(root=hierarchy.root, own=hierarchy.own, directories=Held())
    containment = Containment.create(identity=secrets.token_hex(8), hierarchy=held)
    enclosure = containment.open("one")
    await enclosure.end()
    put(unit / "our.service/run-one", wiped.pid)

    enclosure.close()

    await gone(wiped.pid)
    assert wiped.wait() == -signal.SIGKILL


async def test_a_cgroup_too_deep_for_any_path_hides_nobody_and_holds_nothing_up(
    run: Run, hierarchy: Hierarchy, caplog: pytest.LogCaptureFixture
) -> None:
    """R10: longer than a path may be, so that nobody can list who is in it."""
    assert hierarchy.root is not None
    assert hierarchy.own is not None
    unit = hierarchy.root / hierarchy.own.lstrip("/").split("/")[0]
    run("exec sleep 1000")
    escaping = run([sys.executable, "-c", MOVE, str(unit / "mine"), "25", SLEEP])
    moved = int(await escaping.line())
    assert await escaping.exited() == 0
    try:
        await escaping.enclosure.end()
        await gone(moved)
        assert "mine: cannot be removed: File name too long" in caplog.text
        assert "cannot look" not in caplog.text
        assert list(run("exec sleep 1000").enclosure.survivors) == []
    finally:
        remove_from_within(unit / "mine")


def remove_from_within(deep: Path) -> None:
    script = (
        'cd "$1" || exit; while cd x* 2>/dev/null; do :; done; while cd .. && rmdir x*; do :; done'
    )
    subprocess.run(["bash", "-c", script, "x", str(deep)], check=False, stderr=subprocess.DEVNULL)
    deep.rmdir()
