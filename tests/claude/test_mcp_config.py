"""Which MCP servers one run is granted, and the file that says so."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from hive_subagent.claude.mcp_config import ConfigFiles, Grant, read_servers

URL = "http://127.0.0.1:8717"
SERVERS = {
    "search": {"type": "http", "url": "http://127.0.0.1:9000/mcp", "availableToSubagents": True},
    "notes": {"command": "notes-mcp", "allowedTools": ["put"], "availableToSubagents": True},
    "boss": {"type": "http", "url": f"{URL}/mcp", "availableToSubagents": True},
    "subagent": {"command": "bridge", "availableToSubagents": True},
    "kept": {"command": "kept-mcp"},
}


@pytest.fixture
def files(tmp_path: Path) -> ConfigFiles:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps(SERVERS))
    return ConfigFiles(
        tmp_path,
        read_servers(file),
        lambda token: f"{URL}/signal/{token}/mcp",
        is_ours=lambda address: address.startswith(URL),
    )


def granted(files: ConfigFiles, run_id: str, **given: Any) -> Grant:
    return files.grant(run_id, **given)


def entries(file: Path | None) -> dict[str, Any]:
    assert file is not None
    found: dict[str, Any] = json.loads(file.read_bytes())["mcpServers"]
    return found


def test_all_that_are_opted_in_are_granted_where_nothing_limits_it(files: ConfigFiles) -> None:
    grant = granted(files, "r1", token=None)
    assert set(entries(grant.config)) == {"search", "notes", "boss", "subagent"}
    assert set(grant.allowed_tools) == {
        "mcp__search",
        "mcp__notes__put",
        "mcp__boss",
        "mcp__subagent",
    }
    assert grant.config is not None
    assert stat.S_IMODE(grant.config.stat().st_mode) == 0o600


def test_only_those_of_the_permission_are_granted(files: ConfigFiles) -> None:
    grant = granted(files, "r1", token="t", servers=frozenset({"notes", "kept", "other"}))
    assert set(entries(grant.config)) == {"notes", "signal"}
    assert grant.allowed_tools == ("mcp__notes__put", "mcp__signal")


def test_without_any_server_there_is_no_file(files: ConfigFiles, tmp_path: Path) -> None:
    assert granted(files, "r1", token=None, servers=frozenset()).config is None
    assert list((tmp_path / "mcp").iterdir()) == []


def test_a_child_is_never_granted_the_server_that_would_make_it_an_owner(
    files: ConfigFiles,
) -> None:
    """R29."""
    assert set(entries(granted(files, "r1", token=None, owner=False).config)) == {"search", "notes"}
