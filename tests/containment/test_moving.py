"""A run that moves itself into a cgroup that it makes, where there is a cgroup v2 to write."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.programs import BASH, SLEEP

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


@pytest.fixture
def hierarchy() -> Iterator[Hierarchy]:
    """A real one that this process may divide."""
    with real_hierarchy() as made:
        yield made


@pytest.mark.parametrize("place", ["supervisor/deep", "mine", "mine/deep"])
async def test_what_has_moved_into_a_foreign_cgroup_ends_with_the_last_run(
    run: Run, hierarchy: Hierarchy, place: str
) -> None:
    """R10."""
    assert hierarchy.root is not None
    assert hierarchy.own is not None
    unit = hierarchy.root / hierarchy.own.lstrip("/").split("/")[0]
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


async def test_a_cgroup_too_deep_for_any_path_hides_no_process(
    run: Run, hierarchy: Hierarchy, caplog: pytest.LogCaptureFixture
) -> None:
    """R10: longer than a path may be, so that nobody can list who is in it."""
    assert hierarchy.root is not None
    assert hierarchy.own is not None
    unit = hierarchy.root / hierarchy.own.lstrip("/").split("/")[0]
    escaping = run([sys.executable, "-c", MOVE, str(unit / "mine"), "25", FOREVER])
    moved = int(await escaping.line())
    assert await escaping.exited() == 0
    try:
        await escaping.enclosure.end()
        await gone(moved)
        assert "mine: cannot be removed: File name too long" in caplog.text
        assert "cannot look" not in caplog.text
        assert run("exec sleep 1000").enclosure.remains == ""
    finally:
        remove_from_within(unit / "mine")


def remove_from_within(deep: Path) -> None:
    script = (
        'cd "$1" || exit; while cd x* 2>/dev/null; do :; done; while cd .. && rmdir x*; do :; done'
    )
    subprocess.run(["bash", "-c", script, "x", str(deep)], check=False, stderr=subprocess.DEVNULL)
    deep.rmdir()
