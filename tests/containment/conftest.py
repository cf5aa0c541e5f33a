"""Real processes under a real containment; every test leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from hive_subagent.containment import Containment, Enclosure, Hierarchy

MOUNTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
# a Nix build finds the packages of the tests by PYTHONPATH
BASE_ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}

Run = Callable[..., "Started"]


class Started:
    """A run: its enclosure and its root, which only this object waits for, as a driver would."""

    def __init__(self, enclosure: Enclosure, process: subprocess.Popen[bytes]) -> None:
        self.enclosure = enclosure
        self.process = process

    @property
    def pid(self) -> int:
        return self.process.pid

    async def line(self) -> str:
        """The next line the run prints."""
        assert self.process.stdout is not None
        read = asyncio.to_thread(self.process.stdout.readline)
        return (await asyncio.wait_for(read, 20)).decode().strip()

    async def exited(self) -> int:
        """The root's exit code; the root is reaped by this."""
        return await asyncio.wait_for(asyncio.to_thread(self.process.wait), 20)


def spawn(enclosure: Enclosure, *argv: str) -> subprocess.Popen[bytes]:
    """Start `argv` in an enclosure; the caller waits for it."""
    process = subprocess.Popen(
        enclosure.launcher(argv),
        env={**BASE_ENVIRONMENT, **enclosure.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    enclosure.adopt(process.pid)
    return process


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def exists(pid: int) -> bool:
    """Whether a pid is in use at all, by a zombie too."""
    return Path(f"/proc/{pid}").exists()


async def gone(pid: int) -> None:
    """Wait until a pid is dead; fails after 20 s."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop, died = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, died.set)
    try:
        await asyncio.wait_for(died.wait(), 20)
    finally:
        loop.remove_reader(fd)
        os.close(fd)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what the kernel gives no event for; fails after 20 s."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def identity(anyio_backend: str) -> str:
    return secrets.token_hex(8)


@contextmanager
def real_hierarchy() -> Iterator[Hierarchy]:
    """A cgroup v2 that this process may divide; skips the test where there is none."""
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


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    return tmp_path / "our.service"


@pytest.fixture(params=["session", "cgroup"])
def hierarchy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hierarchy]:
    """No cgroup at all, or a real one that this process may divide, where there is one."""
    if request.param == "session":
        yield Hierarchy(root=tmp_path, own="/none")
        return
    with real_hierarchy() as made:
        yield made


@pytest.fixture
async def containment(
    anyio_backend: str, identity: str, hierarchy: Hierarchy
) -> AsyncIterator[Containment]:
    made = Containment.create(identity=identity, hierarchy=hierarchy)
    made.start()
    yield made
    await made.end_everything()
    await made.stop()


@pytest.fixture
async def run(containment: Containment) -> AsyncIterator[Run]:
    """Start `argv` (or `bash -c script`) as a run of the containment."""
    started: list[Started] = []

    def start(
        script: str | list[str],
        *,
        run_id: str | None = None,
        within: Containment | None = None,
        environment: Mapping[str, str] = BASE_ENVIRONMENT,
    ) -> Started:
        enclosure = (within or containment).open(run_id or secrets.token_hex(4))
        argv = ["bash", "-c", script] if isinstance(script, str) else script
        process = subprocess.Popen(
            enclosure.launcher(argv),
            env={**environment, **enclosure.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        enclosure.adopt(process.pid)
        started.append(Started(enclosure, process))
        return started[-1]

    yield start
    for one in started:
        await one.enclosure.end()
        await one.exited()
        assert one.process.stdout is not None
        one.process.stdout.close()
        one.enclosure.close()
