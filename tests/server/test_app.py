"""The HTTP surface of a daemon: who may come in, and what is left behind by who may not."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import rpc
from support.daemon import Daemon
from support.stub import HANG, script

from hive_subagent import __version__

TOKEN = "correct-horse-battery-staple"

FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "localhost.evil.example",
    "evil.example#localhost",
    "0.0.0.0:{port}",
    "192.0.2.1:{port}",
    "[::2]:{port}",
    "",
    "[",
    "127.0.0.1:notaport",
]
FOREIGN_ORIGINS = [
    "http://evil.example",
    "https://127.0.0.1.evil.example",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://localhost:1",
    "null",
    "",
    "file://",
    "chrome-extension://abcdef",
]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with an owner's token."""
    made = Daemon(tmp_path_factory.mktemp("guarded"))
    (made.root / "token").write_text(f"{TOKEN}\n")
    made.settings["auth_token_file"] = str(made.root / "token")
    made.environment["ANTHROPIC_API_KEY"] = "sk-secret"
    made.start()
    yield made
    assert made.stop() == 0


def port(daemon: Daemon) -> str:
    return daemon.url.rpartition(":")[2]


def routes(daemon: Daemon) -> list[tuple[str, str, bytes | None]]:
    body = rpc.body_of("status", {})
    return [
        ("POST", f"{daemon.url}/mcp", body),
        ("GET", f"{daemon.url}/mcp", None),
        ("POST", f"{daemon.url}/signal/unknown/mcp", body),
        ("GET", f"{daemon.url}/healthz", None),
        ("GET", f"{daemon.url}/anything", None),
    ]


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_foreign_host_is_refused_on_every_route(daemon: Daemon, host: str) -> None:
    """R25: a page in a browser that bends its own name to this machine."""
    given = {**rpc.HEADERS, "Host": host.format(port=port(daemon))}
    for method, url, body in routes(daemon):
        reply = rpc.request(url, method, body, given)
        assert (reply.status, reply.body) == (421, b"this Host is not served here\n"), url


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_foreign_origin_is_refused_on_every_route(daemon: Daemon, origin: str) -> None:
    """R25."""
    for method, url, body in routes(daemon):
        reply = rpc.request(url, method, body, {**rpc.HEADERS, "Origin": origin})
        assert (reply.status, reply.body) == (403, b"this Origin may not call\n"), url


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_the_names_of_this_machine_are_served(daemon: Daemon, host: str) -> None:
    for name in (host, f"{host}:{port(daemon)}"):
        given = {**rpc.HEADERS, "Host": name, "Origin": f"http://{host}:{port(daemon)}"}
        assert rpc.request(f"{daemon.url}/healthz", headers=given).status == 200
        assert "sessions" in rpc.call(f"{daemon.url}/mcp", "status", {}, given).data


async def test_health_has_status_version_instance_and_number_of_runs(daemon: Daemon) -> None:
    about = json.loads((daemon.runtime_dir / "daemon.json").read_bytes())

    def health() -> dict[str, Any]:
        told = json.loads(rpc.request(f"{daemon.url}/healthz").body)
        return {key: told[key] for key in ("status", "version", "instance", "running")}

    before = health()
    assert before == {
        "status": "ok",
        "version": __version__,
        "instance": about["instance"],
        "running": 0,
    }
    name = await daemon.begin(script(HANG))
    assert health() == {**before, "running": 1}
    await daemon.must("interrupt", name=name)
    assert health() == before


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer caf\u00e9",
    ],
)
def test_without_the_owners_token_nothing_of_the_owners_answers(
    guarded: Daemon, given: str | None
) -> None:
    headers = rpc.HEADERS if given is None else {**rpc.HEADERS, "Authorization": given}
    reply = rpc.request(f"{guarded.url}/mcp", "POST", rpc.body_of("status", {}), headers)
    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert TOKEN.encode() not in reply.body
    assert rpc.request(f"{guarded.url}/healthz").status == 200


async def test_the_owners_route_takes_the_owners_token_and_not_a_subagents(
    guarded: Daemon,
) -> None:
    owner = {"Authorization": f"Bearer {TOKEN}"}
    arguments = {"name": "g", "prompt_file": guarded.brief(script(HANG)), "goal": "g"}
    assert not rpc.call(f"{guarded.url}/mcp", "start", arguments, owner).is_error
    (file,) = (guarded.runtime_dir / "mcp").iterdir()
    signal = json.loads(file.read_text())["mcpServers"]["signal"]["url"]
    assert not rpc.call(signal, "need_help", {"message": "?"}).is_error
    subagent = {"Authorization": f"Bearer {signal.split('/')[-2]}"}
    reply = rpc.request(
        f"{guarded.url}/mcp", "POST", rpc.body_of("status", {}), {**rpc.HEADERS, **subagent}
    )
    assert reply.status == 401
    assert guarded.process is not None
    argv = [_command_line(guarded.process.pid), *guarded.children().values()]
    for secret in (TOKEN, "sk-secret"):
        assert secret not in guarded.log
        assert secret not in json.dumps(guarded.notices())
        assert secret not in "\n".join(argv)
    assert not rpc.call(f"{guarded.url}/mcp", "interrupt", {"name": "g"}, owner).is_error


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_body_over_the_limit_is_refused_and_the_daemon_goes_on(
    daemon: Daemon, framing: str
) -> None:
    host, _, number = daemon.url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(number), timeout=20)
    piece = b" " * 1024 * 1024
    body = piece * 21 if framing == "length" else iter([piece] * 21)
    try:
        connection.request("POST", "/mcp", body, rpc.HEADERS, encode_chunked=True)
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # the refusal came before all was sent
    finally:
        connection.close()
    assert rpc.request(f"{daemon.url}/healthz").status == 200


def test_refused_requests_leave_nothing_behind(daemon: Daemon) -> None:
    """R26: each of ten thousand left a session; a tenth as many of each kind show a leak too."""
    host, _, number = daemon.url.removeprefix("http://").partition(":")
    assert daemon.process is not None
    body = rpc.body_of("status", {})
    kinds: list[tuple[str, str, bytes | None, dict[str, str]]] = [
        ("POST", "/mcp", body, {"Host": "evil.example"}),
        ("POST", "/mcp", body, {"Origin": "http://evil.example"}),
        ("POST", "/signal/unknown/mcp", body, {}),
        ("POST", "/mcp", b"not json", {}),
        ("POST", "/mcp", b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', {}),
        ("POST", "/mcp", body, {"Accept": "text/html"}),
        ("POST", "/mcp", body, {"Content-Type": "text/plain"}),
        ("DELETE", "/mcp", None, {"mcp-session-id": "0" * 32}),
        ("GET", "/nowhere", None, {}),
    ]

    def storm(count: int) -> None:
        connection = http.client.HTTPConnection(host, int(number), timeout=20)
        for index in range(count):
            method, path, content, headers = kinds[index % len(kinds)]
            connection.request(method, path, content, {**rpc.HEADERS, **headers})
            reply = connection.getresponse()
            reply.read()
            assert 200 <= reply.status < 500, (method, path, headers, reply.status)
        connection.close()

    storm(450)
    before = _resident_kib(daemon.process.pid)
    storm(1800)
    assert _resident_kib(daemon.process.pid) - before < 2048
    assert rpc.request(f"{daemon.url}/healthz").status == 200


def _command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def _resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(pid)
