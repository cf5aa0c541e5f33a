"""The socket that a service manager holds (issue 10, 14), by the protocol of sd_listen_fds(3)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from support import programs, rpc
from support.daemon import Daemon
from support.processes import until
from support.stub import HANG, script

# a service manager: descriptors 3 and up, then the daemon in its own place, so with its pid
MANAGER = """
import os, sys
count, names, pid = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.environ["LISTEN_FDS"] = sys.argv[1]
os.environ["LISTEN_PID"] = pid or str(os.getpid())
if names:
    os.environ["LISTEN_FDNAMES"] = names
os.execv(sys.argv[4], sys.argv[4:])
"""


@contextmanager
def passing(
    world: Daemon, *sockets: socket.socket, names: str = "", pid: str = ""
) -> Iterator[None]:
    """The next starts of the world's daemon get these sockets as descriptors 3, 4 and so on."""
    first = 200
    for number, each in enumerate(sockets):
        os.dup2(each.fileno(), first + number, inheritable=True)
    # a shell moves them to where a service manager would have put them
    moves = " ".join(f"{3 + n}<&{first + n} {first + n}<&-" for n in range(len(sockets)))
    manager = world.root / "manager.py"
    manager.write_text(MANAGER)
    command = f'exec "$0" "$@" {moves}'
    arguments = [sys.executable, str(manager), str(len(sockets)), names, pid]
    world.launcher = (programs.BASH, "-c", command, *arguments)
    world.inherited = tuple(range(first, first + len(sockets)))
    try:
        yield
    finally:
        for number in world.inherited:
            os.close(number)
        world.launcher, world.inherited = (), ()


@pytest.fixture
def held() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as made:
        yield made


def test_the_passed_socket_is_served_and_handed_to_no_child(
    world: Daemon, held: socket.socket
) -> None:
    with passing(world, held):
        world.start()
        assert world.url == f"http://127.0.0.1:{held.getsockname()[1]}"
        assert rpc.request(f"{world.url}/healthz").status == 200
        assert world.stop() == 0, world.log


async def test_during_a_restart_the_port_stays_taken_and_a_call_waits(
    world: Daemon, held: socket.socket
) -> None:
    with passing(world, held):
        world.start()
        name = await world.begin(script(HANG))
        assert world.stop() == 0, world.log
        with pytest.raises(OSError, match="Address already in use"):
            socket.create_server(("127.0.0.1", held.getsockname()[1])).close()
        answers: list[str] = []

        async def ask() -> None:
            answers.append((await world.must("status", name=name))["state"])

        async with anyio.create_task_group() as calls:
            calls.start_soon(ask)
            await until(lambda: connected_to(held.getsockname()[1]) > 0, "the call to connect")
            assert answers == []
            await anyio.to_thread.run_sync(world.start)
        assert answers == ["killed"]
        assert world.stop() == 0, world.log


def connected_to(port: int) -> int:
    """Established connections of this machine to a port."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(
        line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "01" for line in lines
    )


def test_sockets_for_another_process_are_not_ours(world: Daemon, held: socket.socket) -> None:
    """An intermediate shell passes its environment on, and perhaps no descriptor."""
    with passing(world, held, pid="1"):
        world.start()
        assert not world.url.endswith(f":{held.getsockname()[1]}")
        assert world.stop() == 0


def test_among_several_the_one_named_http_is_served(world: Daemon, held: socket.socket) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        passing(world, other, held, names="operator:http"),
    ):
        world.start()
        assert world.url.endswith(f":{held.getsockname()[1]}")
        assert world.stop() == 0


def test_a_port_other_than_the_setting_is_logged(world: Daemon, held: socket.socket) -> None:
    world.settings["port"] = 1
    with passing(world, held):
        world.start()
        assert f"port {held.getsockname()[1]}, and not `port` 1" in world.log
        assert world.stop() == 0


def unusable(kind: str, root: Path) -> list[socket.socket]:
    if kind == "two without a name":
        return [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    if kind == "datagrams":
        return [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    if kind == "not listening":
        return [socket.socket()]
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(root / "socket"))
    made.listen()
    return [made]


@pytest.mark.parametrize("kind", ["two without a name", "datagrams", "not listening", "local"])
def test_what_cannot_be_served_ends_the_daemon_with_one_line(world: Daemon, kind: str) -> None:
    sockets = unusable(kind, world.root)
    try:
        with passing(world, *sockets):
            process = world.spawn()
            assert process.wait(60) == 2
    finally:
        for each in sockets:
            each.close()
    (line,) = world.log.splitlines()
    assert line.startswith("hive-subagent-daemon: ")
    assert "LISTEN_FDS" in line


def test_a_descriptor_that_is_no_socket_ends_the_daemon_with_one_line(world: Daemon) -> None:
    world.environment |= {"LISTEN_FDS": "1"}
    program = 'export LISTEN_PID=$$; exec "$0" "$@" 3</dev/null'
    world.launcher = (programs.BASH, "-c", program)
    process: subprocess.Popen[bytes] = world.spawn()
    assert process.wait(60) == 2
    assert "LISTEN_FDS names descriptor 3" in world.log
