"""A stranger who holds connections in numbers (issue 10, 9)."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from support import rpc
from support.daemon import Daemon
from support.processes import until
from support.stub import HANG, goal_reached, script, text

from hive_subagent.server.connections import FEWEST, MOST, most_connections
from security.rude import OWNER, Load, connect, guard, head, many_descriptors, raw

ROOT = Path(__file__).parents[2]
SLACK = 64  # descriptors of the daemon itself and of a run
NOBODY = 65534


@contextmanager
def stranger(daemon: Daemon, count: int, *, uid: int = -1) -> Iterator[subprocess.Popen[str]]:
    """A process that holds idle connections and opens those anew that are hung up on."""
    port = daemon.url.rpartition(":")[2]
    made = subprocess.Popen(
        [sys.executable, "-m", "bench.stranger", port, str(count), "1000", str(uid), "9"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield made
    finally:
        assert made.stdin is not None
        assert made.stdout is not None
        made.stdin.close()
        made.stdout.close()
        assert made.wait(60) == 0


def held(daemon: Daemon) -> int:
    return Load.of(daemon).descriptors


async def test_the_owner_is_served_while_the_same_user_holds_all_connections(
    guarded: Daemon,
) -> None:
    quiet = Load.of(guarded).log
    with stranger(guarded, 2 * MOST):
        await until(lambda: held(guarded) >= MOST, "all connections")
        for _ in range(10):
            await guarded.must("status")
        does = script(goal_reached("done"), text("x"))
        session = await guarded.run(does, goal="a token of its own")
        assert session["stop_reason"] == "goal_reached"
        assert held(guarded) <= MOST + SLACK
    assert Load.of(guarded).log - quiet < 4096, guarded.log[-4096:]
    await until(lambda: held(guarded) < SLACK, "its end")


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
async def test_another_user_holds_half_of_all_connections_at_most(guarded: Daemon) -> None:
    with many_descriptors(), ExitStack() as ours, stranger(guarded, MOST, uid=NOBODY):
        await until(lambda: held(guarded) >= MOST // 2, "half of all connections")
        mine = [ours.enter_context(connect(guarded)) for _ in range(MOST // 4)]
        answered = head(guarded, "GET /healthz", Connection="keep-alive")
        for connection in mine:
            connection.sendall(answered)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        await guarded.must("status")
        assert held(guarded) <= MOST // 2 + MOST // 4 + SLACK


async def test_an_owners_idle_connection_outlives_a_flood(guarded: Daemon) -> None:
    asked = head(guarded, "GET /nowhere", Connection="keep-alive", **OWNER)
    with connect(guarded) as connection:

        def ask() -> None:
            connection.sendall(asked)
            got = b""
            # the head and the body may come one after the other
            while not got.endswith(b"Not Found"):
                got += connection.recv(65536)
                assert got, "it was ended"
            assert got.startswith(b"HTTP/1.1 404")

        ask()
        with stranger(guarded, 2 * MOST):
            await until(lambda: held(guarded) >= MOST, "all connections")
            ask()


def is_hung_up(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


async def test_where_descriptors_run_out_the_owner_gets_in_and_runs_go_on(world: Daemon) -> None:
    """What is left for connections is what runs and notices do not need."""
    guard(world)
    world.launcher = ("prlimit", "--nofile=400:400")
    world.settings["max_running"] = 4
    world.start()
    with stranger(world, 500):
        await until(
            lambda: held(world) >= most_connections(400, 4), "all that are left to connections"
        )
        sessions = [await world.begin(script(HANG)) for _ in range(4)]
        await world.must("status")
        for name in sessions:
            await world.must("interrupt", name=name, force=True)
            await world.notice(name)
        assert held(world) < 400
    assert world.stop() == 0, world.log
    assert "WARNING" not in world.log


async def test_an_attempt_to_accept_without_a_descriptor_is_logged_once(world: Daemon) -> None:
    """The limit is lowered under the running daemon: as if others had taken what there is."""
    guard(world)
    world.start()
    assert world.process is not None
    few = held(world) + 8
    resource.prlimit(world.process.pid, resource.RLIMIT_NOFILE, (few, few))
    with stranger(world, 200):
        await until(lambda: "cannot accept a connection" in world.log, "the descriptors' end")
        for _ in range(20):
            assert await anyio.to_thread.run_sync(healthy, world)
    assert world.log.count("cannot accept a connection") == 1, world.log
    assert "Traceback" not in world.log
    world.process.send_signal(signal.SIGTERM)
    assert world.process.wait(60) == 0


def healthy(daemon: Daemon) -> bool:
    return rpc.request(f"{daemon.url}/healthz").status == 200


async def test_a_caller_without_its_body_gives_way_and_a_waiting_one_does_not(
    world: Daemon,
) -> None:
    """Without an owner's token, so that a stranger's body is waited for."""
    world.launcher = ("prlimit", "--nofile=100:100")
    world.start()
    name = await world.begin(script(HANG))
    body = rpc.body_of("wait", {"names": [name], "timeout_s": 3600})
    with ExitStack() as opened:

        def begin(missing: int) -> socket.socket:
            fields = {**rpc.HEADERS, "Content_Length": str(len(body) + missing)}
            connection = opened.enter_context(connect(world))
            connection.sendall(head(world, "POST /mcp", **fields) + body)
            return connection

        owing = [begin(missing=1) for _ in range(2 * FEWEST)]
        await world.must("status")
        held = [connection for connection in owing if not is_hung_up(connection)]
        assert owing[0] not in held, "who came first gave way"
        assert owing[-1] in held
        assert len(held) < FEWEST
        waiting = [begin(missing=0) for _ in range(FEWEST)]
        for connection in waiting:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        refused = await anyio.to_thread.run_sync(raw, world, head(world, "GET /healthz"))
        assert refused.startswith(b"HTTP/1.1 503"), refused
        waiting[0].close()
        await until(lambda: raw(world, head(world, "GET /healthz"))[9:12] == b"200", "room")
    assert world.stop() == 0


async def test_nothing_is_imported_once_the_daemon_is_ready(world: Daemon) -> None:
    """An import needs a descriptor, which may be what is missing."""
    guard(world)
    world.environment["PYTHONPROFILEIMPORTTIME"] = "1"
    world.start()
    ready = len(world.log)
    name = await world.begin(script({"wait_file": str(world.gate())}), goal="g", max_turns=1)
    for line in ("GET /mcp", "POST /nowhere", "DELETE /signal/x/mcp", "GET /healthz"):
        raw(world, head(world, line, Host="other.example"))
        raw(world, head(world, line))
    raw(world, b"neither this nor that\r\n\r\n")
    hung_up = connect(world)
    hung_up.sendall(head(world, "POST /mcp", Content_Length="99", **OWNER) + b"{")
    hung_up.close()
    await world.must("status")
    await world.call("wait", names=[name], timeout_s=0.1)
    await world.refused("start", name="?", prompt_file="/none")
    await world.refused("status", name="unknown")
    await world.must("intervene", name=name, kind="info", text="look")
    await world.must("interrupt", name=name)
    await world.must("continue", name=name, prompt="again")
    await world.must("interrupt", name=name, force=True)
    tasks = [{"name": "child", "role": "scout", "prompt": script(text("x"))}]
    await world.call("delegate", tasks=tasks)
    assert world.stop() == 0
    after = world.log[ready:].split("SIGTERM: stopping")[0]
    imported = re.findall(r"^import time:.*\| *(\S+)$", after, re.MULTILINE)
    assert imported == []
