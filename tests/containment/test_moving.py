"""A run that moves itself to other places of its unit, where there is a cgroup v2 to write."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.programs import BASH, SETSID, SLEEP

from hive_subagent.containment import Hierarchy

from .conftest import Run, gone, is_alive, real_hierarchy, until

MOVE = f"""
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
os.execve("{BASH}", ["bash", "-c", sys.argv[3]], {{}})
"""

FOREVER = f"exec {SLEEP} 1000"
STORM = f"for ((i = 0; i < 1000; i++)); do {SETSID} {SLEEP} 1000 & {SLEEP} 0.002; done; {FOREVER}"


@pytest.fixture
def hierarchy() -> Iterator[Hierarchy]:
    """A real one that this process may divide."""
    with real_hierarchy() as made:
        yield made


@pytest.mark.parametrize("place", [".", "supervisor", "supervisor/deep", "mine", "mine/deep"])
async def test_a_run_that_moves_itself_is_ended_by_the_kernel_too(
    run: Run, hierarchy: Hierarchy, place: str
) -> None:
    """R10."""
    assert hierarchy.root is not None
    assert hierarchy.own is not None
    unit = hierarchy.root / hierarchy.own.lstrip("/").split("/")[0]
    run("exec sleep 1000")
    escaping = run([sys.executable, "-c", MOVE, str(unit / place), "0", FOREVER])
    moved = int(await escaping.line())
    assert await escaping.exited() == 0
    await until(lambda: "sleep" in Path(f"/proc/{moved}/comm").read_text())

    killed = await escaping.enclosure.end()

    (command,) = [info.command for info in killed if info.pid == moved]
    assert command.endswith("sleep 1000")
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


async def test_a_cgroup_too_deep_for_any_path_hides_nobody_and_holds_nothing_up(
    run: Run, hierarchy: Hierarchy, caplog: pytest.LogCaptureFixture
) -> None:
    """R10: longer than a path may be, so that nobody can list who is in it."""
    assert hierarchy.root is not None
    assert hierarchy.own is not None
    unit = hierarchy.root / hierarchy.own.lstrip("/").split("/")[0]
    run("exec sleep 1000")
    escaping = run([sys.executable, "-c", MOVE, str(unit / "mine"), "25", FOREVER])
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
