"""The operator socket: who can open it, what it serves, and the same routes at the port."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import api, rpc
from support.daemon import Daemon
from support.stub import HANG, script

from hive_subagent.errors import ConfigurationError
from hive_subagent.server.operator_socket import bind_operator_socket

TOKEN = "correct-horse-battery-staple"
AGENT = {"X-Hive-Agent": "scout"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon of a named agent with an owner's token."""
    made = Daemon(tmp_path_factory.mktemp("guarded"))
    (made.root / "token").write_text(f"{TOKEN}\n")
    made.settings |= {"auth_token_file": str(made.root / "token"), "agent_name": "scout"}
    made.headers |= {"Authorization": f"Bearer {TOKEN}", **AGENT}
    made.start()
    yield made
    assert made.stop() == 0


def client(daemon: Daemon) -> api.Client:
    return api.client(daemon.runtime_dir)


def at_port(daemon: Daemon, path: str, headers: dict[str, str], body: object = None) -> rpc.Reply:
    method = "GET" if body is None else "POST"
    sent = None if body is None else json.dumps(body).encode()
    return rpc.request(f"{daemon.url}{api.PREFIX}{path}", method, sent, headers)


def test_only_the_daemons_user_can_open_it(daemon: Daemon) -> None:
    """Issue 13, 1: whoever can open it is the owner."""
    found = client(daemon).socket.lstat()
    assert stat.S_ISSOCK(found.st_mode)
    assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o600, os.geteuid())
    assert stat.S_IMODE(daemon.runtime_dir.stat().st_mode) == 0o700


def test_its_mode_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    """Issue 13, 1."""
    before = os.umask(0)
    try:
        with bind_operator_socket(tmp_path):
            assert stat.S_IMODE((tmp_path / "operator.sock").lstat().st_mode) == 0o600
    finally:
        os.umask(before)


async def test_it_asks_for_no_token_and_serves_the_tools_too(guarded: Daemon) -> None:
    """Issue 13, 1 and 3: the bridge speaks MCP over it, without a token or an agent's name."""
    name, called = await guarded.begin(script(HANG)), client(guarded)
    assert called.get(f"/sessions/{name}")["name"] == name
    reply = called.request("POST", "/mcp", rpc.body_of("status", {}), rpc.HEADERS, prefix="")
    assert name in reply.body.decode()
    called.post(f"/sessions/{name}/interrupt")
    assert called.request("GET", "/healthz", prefix="").json["agent"] == "scout"
    assert called.request("POST", "/signal/x/mcp", b"{}", prefix="").status == 404


def test_a_call_for_another_agent_is_refused_there_too(guarded: Daemon) -> None:
    """Issue 13, 1."""
    headers = {**rpc.HEADERS, "X-Hive-Agent": "forge"}
    body = rpc.body_of("status", {})
    reply = client(guarded).request("POST", "/mcp", body, headers, prefix="")
    assert "belongs to agent" in reply.body.decode()


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost", "null", ""])
def test_a_request_of_a_page_is_refused(daemon: Daemon, origin: str) -> None:
    """Issue 13, 1: a browser cannot open it, so such a request comes over somebody's proxy."""
    for prefix, path in [("", "/healthz"), ("", "/mcp"), (api.PREFIX, "/sessions")]:
        reply = client(daemon).request("GET", path, None, {"Origin": origin}, prefix=prefix)
        assert reply.status == 403, (path, reply)


@pytest.mark.parametrize("given", [None, "Bearer wrong", f"Basic {TOKEN}", TOKEN])
def test_without_the_owners_token_the_port_answers_nothing(
    guarded: Daemon, given: str | None
) -> None:
    """Issue 13, 1."""
    headers = {} if given is None else {"Authorization": given}
    for path in ("/sessions", "/sessions/a", "/events", "/openapi.json", "/nothing"):
        assert at_port(guarded, path, headers).status == 401, path
    assert at_port(guarded, "/sessions", headers, {"name": "a", "prompt": "x"}).status == 401


def test_with_the_owners_token_the_port_answers_the_same(guarded: Daemon) -> None:
    """Issue 13, 1."""
    reply = at_port(guarded, "/sessions", {"Authorization": f"Bearer {TOKEN}"})
    assert json.loads(reply.body) == client(guarded).get("/sessions")


def test_at_the_port_what_acts_has_to_name_the_agent(guarded: Daemon) -> None:
    """Issue 13, 1: two agents can be set to the same port."""
    for other in ({}, {"X-Hive-Agent": "forge"}):
        headers = {"Authorization": f"Bearer {TOKEN}", **other}
        reply = at_port(guarded, "/wait", headers, {})
        assert (reply.status, b'belongs to agent "scout"' in reply.body) == (421, True)
    headers = {"Authorization": f"Bearer {TOKEN}", **AGENT}
    assert at_port(guarded, "/wait", headers, {}).status == 200


def test_without_a_token_the_port_serves_whoever_reaches_it(daemon: Daemon) -> None:
    """Issue 13, 1: as /mcp does. A foreign Host or Origin is refused all the same."""
    assert at_port(daemon, "/sessions", {}).status == 200
    assert at_port(daemon, "/sessions", {"Host": "evil.example"}).status == 421
    for origin in ("http://evil.example", "null"):
        assert at_port(daemon, "/sessions", {"Origin": origin}, {"name": "a"}).status == 403


def test_that_of_a_daemon_that_was_killed_is_replaced(world: Daemon) -> None:
    """Issue 13, 1."""
    world.start()
    world.kill()
    assert client(world).socket.is_socket()
    world.start()
    assert client(world).get("/sessions")["running"] == 0
    assert world.stop() == 0
    assert not client(world).socket.exists()


def test_that_of_a_living_daemon_is_left_alone(daemon: Daemon) -> None:
    """Issue 13, 1: the lock of runtime_dir decides before the socket is looked at."""
    second = daemon.spawn()
    assert second.wait(60) == 2
    assert client(daemon).get("/sessions") is not None


def test_what_is_no_socket_is_not_replaced(world: Daemon) -> None:
    """Issue 13, 1: nothing of somebody else's is removed."""
    world.runtime_dir.mkdir(mode=0o700)
    planted = world.runtime_dir / "operator.sock"
    planted.write_text("mine")
    assert world.spawn().wait(60) == 2
    assert "operator.sock is not a socket; remove it" in world.log
    assert planted.read_text() == "mine"


def test_a_path_that_is_too_long_for_an_address_is_bound_all_the_same(tmp_path: Path) -> None:
    """Issue 13, 1: an address holds 107 bytes."""
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    with bind_operator_socket(folder) as bound:
        assert (folder / "operator.sock").is_socket()
        descriptor = os.open(folder, os.O_PATH)
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(f"/proc/self/fd/{descriptor}/operator.sock")
            bound.accept()[0].close()
        os.close(descriptor)


def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    """Issue 13, 1."""
    with pytest.raises(ConfigurationError, match="cannot be made: No such file"):
        bind_operator_socket(tmp_path / "gone")


def test_connections_at_the_port_do_not_use_up_those_of_the_socket(world: Daemon) -> None:
    """Issue 13, 1: a subagent at the port cannot keep the operator out."""
    world.start()
    held = []
    for _ in range(1100):
        one = socket.create_connection(("127.0.0.1", int(world.url.rpartition(":")[2])))
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        held.append(one)
    assert client(world).get("/sessions")["running"] == 0
    for one in held:
        one.close()
