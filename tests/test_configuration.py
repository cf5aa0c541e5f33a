"""A daemon that cannot run: one line that names the culprit and the mend, and an exit code."""

from __future__ import annotations

import resource
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from support import rpc
from support.daemon import Daemon
from support.unusable import run

from hive_subagent import daemon as program

BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"prot": 1}, "prot"),
    ({"port": "many"}, "port"),
    ({"port": 70000}, "port"),
    ({"interrupt_grace_s": 0}, "interrupt_grace_s"),
    ({"interrupt_grace_s": "soon"}, "interrupt_grace_s"),
    ({"max_running": 0}, "max_running"),
    ({"permission_mode": "anything-goes"}, "permission_mode"),
    ({"permission_mode": "plan", "setting_sources": "user"}, "setting_sources"),
    ({"todo_sinks": ["smoke:/signals"]}, "'smoke:/signals' is neither dir:PATH"),
    ({"todo_sinks": ["exec:/nonexistent"]}, "'exec:/nonexistent': /nonexistent: No such file"),
    ({"todo_sinks": [{"url": "https://h/", "secret": "x"}]}, "todo_sinks.0 (in "),
    ({"todo_sinks": [{"secret_file": "/x"}]}, "url: Field required"),
    ({"todo_sinks": [{"url": "https://u:hidden@h/"}]}, "remove them and use secret_file"),
    ({"todo_sinks": "dir:/x"}, "todo_sinks"),
    ({"child_env": [7]}, "child_env"),
    ({"memory_max": "plenty"}, "memory_max"),
    ({"auth_token_file": "/nonexistent/token"}, "auth_token_file /nonexistent/token: No such file"),
    ({"auth_token_file": "/dev/null"}, "auth_token_file /dev/null"),
    ({"mcp_servers_file": "/nonexistent/m.json"}, "mcp_servers_file /nonexistent/m.json: No such"),
    ({"mcp_servers_file": "/dev/null"}, "mcp_servers_file /dev/null"),
    ({"host": "x" * 70}, "host"),
    ({"host": "192.0.2.1"}, "192.0.2.1"),
    ({"state_dir": "/proc/nowhere"}, "/proc/nowhere"),
    ({"runtime_dir": "/etc/passwd"}, "/etc/passwd"),
    # issue 9, 23: no name can be that long, and each look at such a path raises
    ({"state_dir": f"/tmp/{'x' * 300}"}, "File name too long"),
]


@pytest.mark.parametrize(("settings", "culprit"), BROKEN, ids=[str(s)[:50] for s, _ in BROKEN])
def test_a_broken_setting_is_exit_two_and_one_line_that_names_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, Any],
    culprit: str,
) -> None:
    code, said = run(tmp_path, monkeypatch, capsys, **settings)
    assert code == 2
    assert culprit in said


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"x"', '{"port": 1', "\0"])
def test_a_broken_file_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: str,
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(content)
    code, said = run(tmp_path, monkeypatch, capsys, "--config", str(broken))
    assert code == 2
    assert str(broken) in said


@pytest.mark.parametrize(
    "arguments", [["--port", "many"], ["--prot", "1"], ["--port"], ["now"], ["--config", "/none"]]
)
def test_a_broken_command_line_is_one_line_too(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    code, said = run(tmp_path, monkeypatch, capsys, *arguments)
    assert code == 2
    assert said.startswith("hive-subagent-daemon: ")


@pytest.mark.parametrize("what", ["state/sessions", "state/names", "state/owed", "run/mcp"])
def test_a_file_in_the_place_of_a_folder_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    what: str,
) -> None:
    place = tmp_path / what
    place.parent.mkdir()
    place.write_text("in the way")
    code, said = run(tmp_path, monkeypatch, capsys)
    assert code == 2
    assert str(place) in said


def test_a_runtime_directory_without_room_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ended with a traceback, once everything else was up."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        code, said = run(tmp_path, monkeypatch, capsys)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
    assert code == 2
    assert f"{tmp_path / 'run' / 'daemon.json'} cannot be written: File too large" in said
    assert list((tmp_path / "run").glob("daemon.json*")) == []


def test_a_taken_port_is_exit_three_and_nothing_was_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R27: so a service manager need not try it for ever."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        code, said = run(tmp_path, monkeypatch, capsys, "--port", str(port))
    assert code == 3
    assert f"port {port} of 127.0.0.1 is taken" in said
    assert "`port`" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json"]


@pytest.mark.parametrize("shared", ["state_dir", "runtime_dir"])
def test_a_second_daemon_on_a_directory_names_the_first_and_ends(
    daemon: Daemon,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    shared: str,
) -> None:
    before = (daemon.runtime_dir / "daemon.json").read_bytes()
    directory = str(getattr(daemon, shared))
    assert daemon.process is not None

    code, said = run(tmp_path, monkeypatch, capsys, **{shared: directory})

    assert code == 2
    assert f"{directory} is in use by the daemon with pid {daemon.process.pid}" in said
    assert (daemon.runtime_dir / "daemon.json").read_bytes() == before
    assert rpc.request(f"{daemon.url}/healthz").status == 200


def test_the_codes_are_those_of_the_process(daemon: Daemon, tmp_path: Path) -> None:
    """Two daemons on one port, and two on one state directory, as a service manager sees them."""
    other = Daemon(tmp_path)
    port = daemon.url.rpartition(":")[2]
    assert other.spawn("--port", port).wait(20) == 3
    assert len(other.log.splitlines()) == 1
    other.settings["state_dir"] = str(daemon.state_dir)
    assert other.spawn().wait(20) == 2
    assert len(other.log.splitlines()) == 2
    assert "Traceback" not in other.log


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_are_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["hive-subagent-daemon", flag])
    with pytest.raises(SystemExit) as leaving:
        program.main()
    assert leaving.value.code == 0
    said = capsys.readouterr()
    assert said.out
    assert said.err == ""
