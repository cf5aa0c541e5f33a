"""The file of servers that the operator writes, and the file that each run is given."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from hive_subagent.claude.mcp_config import ConfigFiles, Grant, read_servers
from hive_subagent.errors import ConfigurationError

LOCAL = {"type": "stdio", "command": "x", "args": ["-y"], "env": {"A": "${B}"}}
REMOTE = {"type": "http", "url": "https://x.example/mcp", "headers": {"Authorization": "${T}"}}
OPEN = {"availableToSubagents": True}


def written(folder: Path, servers: Any) -> Path:
    file = folder / "servers.json"
    file.write_text(servers if isinstance(servers, str) else json.dumps(servers))
    return file


def files(folder: Path, servers: Any) -> ConfigFiles:
    return ConfigFiles(folder / "run", read_servers(written(folder, servers)), lambda t: f"u/{t}")


def granted(files: ConfigFiles, run_id: str, *, token: str | None) -> Grant:
    return files.grant(run_id, token=token)


def test_only_servers_that_are_opted_in_reach_a_child_and_all_are_loaded_at_once(
    tmp_path: Path,
) -> None:
    made = files(tmp_path, {"a": LOCAL | OPEN, "b": REMOTE | OPEN, "closed": REMOTE})

    grant = granted(made, "run-1", token=None)

    assert grant.config is not None
    assert json.loads(grant.config.read_text()) == {
        "mcpServers": {
            "a": {**LOCAL, "alwaysLoad": True},
            "b": {**REMOTE, "alwaysLoad": True},
        }
    }
    assert set(grant.allowed_tools) == {"mcp__a", "mcp__b"}
    assert stat.S_IMODE(grant.config.stat().st_mode) == 0o600


def test_each_run_has_a_file_of_its_own_that_goes_with_it(tmp_path: Path) -> None:
    made = files(tmp_path, {})
    one, two = granted(made, "run-1", token="one"), granted(made, "run-2", token="two")
    assert one.config is not None
    assert two.config is not None
    assert "u/one" in one.config.read_text()
    assert "u/two" in two.config.read_text()
    made.withdraw("run-1")
    made.withdraw("run-1")
    assert not one.config.exists()
    assert two.config.exists()


def test_files_of_a_crashed_daemon_are_removed(tmp_path: Path) -> None:
    granted(files(tmp_path, {}), "run-1", token="secret")
    files(tmp_path, {})
    assert list((tmp_path / "run" / "mcp").iterdir()) == []


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "run" / "mcp" / "stray").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="stray is in the way"):
        files(tmp_path, {})


@pytest.mark.parametrize(
    ("content", "culprit"),
    [
        ("", "Invalid JSON"),
        ("{", "Invalid JSON"),
        ("[]", "should be an object"),
        ({"a": {**LOCAL, **OPEN, "type": "executor pigeon"}}, "a.type: "),
        ({"a": {**LOCAL, "availableToSubagents": "perhaps"}}, "a.availableToSubagents: "),
        ({"a": {"type": "stdio", "availableToSubagents": True}}, "needs `command`"),
        ({"a": {"type": "http", "command": "x", **OPEN}}, "needs `url`"),
        ({"a": {**LOCAL, **OPEN, "args": "x"}}, "a.args: "),
        ({"signal": LOCAL | OPEN}, "signal: "),
    ],
)
def test_a_broken_file_is_one_line_that_names_the_entry(
    tmp_path: Path, content: Any, culprit: str
) -> None:
    file = written(tmp_path, content)
    with pytest.raises(ConfigurationError) as caught:
        read_servers(file)
    assert str(file) in str(caught.value)
    assert culprit in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "entry",
    [
        7,
        {"type": "ws", "url": "ws://127.0.0.1/"},
        {"command": None, "args": None, "allowedTools": None},
        {**LOCAL, **OPEN, "enable": False},
        {**LOCAL, "availableToSubagents": False, "args": "x"},
    ],
)
def test_an_entry_that_is_not_for_subagents_is_passed_over_whatever_it_is(
    tmp_path: Path, entry: Any
) -> None:
    file = written(tmp_path, {"other": entry, "ours": LOCAL | OPEN})
    assert list(read_servers(file)) == ["ours"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file or directory; name a readable"):
        read_servers(tmp_path / "missing.json")
    assert read_servers(None) == {}
