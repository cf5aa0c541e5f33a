"""What a daemon adopts need not be a run's: as PID 1 of a container, or behind a start script."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import processes
from support.daemon import Daemon
from support.processes import gone, is_alive, until
from support.stub import HANG, bash, script

# what a container engine does: a PID namespace with a /proc of its own, and the daemon as PID 1
CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def containers_work() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Path]:
    """A file for the pid of a stranger, as this process sees it; it is ended afterwards."""
    file = tmp_path / "stranger.pid"
    yield file
    if file.exists() and is_alive(pid := int(file.read_text())):
        os.kill(pid, signal.SIGKILL)


def dead_children(pid: int) -> list[int]:
    """The zombies that a process has not reaped."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if folder.name.isdecimal() and fields[0] == "Z" and int(fields[1]) == pid:
            found.append(int(folder.name))
    return found


async def end_runs(world: Daemon) -> None:
    """Two runs, one after the other, each with a tool that hides; nothing of them is left."""
    for _ in range(2):
        pid_file = world.gate()
        hidden = f"setsid sh -c 'sleep 1000 & echo $$ > {pid_file}; wait' & wait"
        name = await world.begin(script(bash(hidden), HANG))
        await until(lambda file=pid_file: file.exists() and file.read_text())  # type: ignore[misc]
        children = world.children()
        assert len(children) >= 3
        await world.must("interrupt", name=name, force=True)
        await gone(children)


async def test_a_process_of_the_start_script_is_reaped_and_never_ended(
    world: Daemon, stranger: Path
) -> None:
    """Issue 9, 20: it ended what was re-parented to it, with the last run and at its stop."""
    gate = world.gate()
    beside = (
        f"until test -e {gate}; do sleep 0.02; done;"
        f" setsid sleep 1000 & echo $! >{stranger}.new; mv {stranger}.new {stranger};"
        " setsid sh -c 'exit 3' &"
    )
    world.launcher = ("sh", "-c", f'( {beside} ) & exec "$@"', "start-script")
    world.start()
    assert world.process is not None
    daemon = world.process.pid
    assert "was its child before it began" in world.log
    gate.touch()
    pid = _noted(stranger)
    await until(lambda: _parent(pid) == daemon, "the daemon to adopt it")
    await end_runs(world)
    assert is_alive(pid)
    await until(lambda: dead_children(daemon) == [], "the daemon to reap")
    assert world.stop() == 0
    assert is_alive(pid)
    assert world.children() == {}


@pytest.mark.skipif(not containers_work(), reason="no PID namespace can be made here")
async def test_pid_1_ends_its_runs_and_only_reaps_what_others_leave(
    world: Daemon, stranger: Path
) -> None:
    """Issue 9, 20."""
    world.launcher = CONTAINER
    world.start()
    assert world.process is not None
    (daemon,) = _children(world.process.pid)
    assert "this is PID 1" in world.log
    _run_inside(daemon, "setsid sleep 1000 & setsid sh -c 'exit 3' &")
    await until(lambda: bool(_sleeping_below(daemon)), "the daemon to adopt it")
    (pid,) = _sleeping_below(daemon)
    _note(stranger, pid)
    await end_runs(world)
    assert is_alive(pid)
    await until(lambda: dead_children(daemon) == [], "the daemon to reap")
    os.kill(daemon, signal.SIGTERM)
    assert world.process.wait(processes.PATIENCE_S) == 0
    assert "ended what was left over" not in world.log
    assert world.children() == {}


def _run_inside(daemon: int, command: str) -> None:
    """Another program of the same container, as `docker exec` starts it."""
    enter = ["nsenter", f"--target={daemon}", "--pid", "--mount"]
    subprocess.run([*enter, "sh", "-c", command], check=True)


def _note(file: Path, pid: int) -> None:
    file.write_text(str(pid))


def _noted(file: Path) -> int:
    processes.wait_until(file.exists)
    return int(file.read_text())


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _sleeping_below(daemon: int) -> list[int]:
    def command(pid: int) -> bytes:
        return Path(f"/proc/{pid}/cmdline").read_bytes()

    return [pid for pid in _children(daemon) if command(pid).startswith(b"sleep\0")]
