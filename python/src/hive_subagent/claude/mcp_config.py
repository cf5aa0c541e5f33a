"""Which MCP servers a subagent sees: those the operator opted in, and its own signals.

Written as claude's `--mcp-config` takes it. Each entry carries `alwaysLoad`, or its tools hide
behind tool search.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from hive_subagent.errors import ConfigurationError, Refused
from hive_subagent.system.operator_input import read_given
from hive_subagent.system.private_files import private_directory, write_private

log = logging.getLogger(__name__)

SIGNAL = "signal"
"""The name by which a subagent knows the MCP server of its own signals."""

_SETTING = "mcp_servers_file"

OWNER = "subagent"
"""The name by which an owner knows the daemon's MCP server."""


@dataclass(frozen=True)
class Grant:
    """The MCP servers one subagent may see: its configuration file and pre-approved tools."""

    config: Path | None
    allowed_tools: tuple[str, ...]


class McpServer(BaseModel):
    """One entry of `mcp_servers_file`, in the shape of `hyperhive.extraMcpServers`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    type: Literal["stdio", "http", "sse"] = "stdio"
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    allowedTools: list[str] = ["*"]  # noqa: N815  (the shape is the option's)
    availableToSubagents: bool = False  # noqa: N815

    @model_validator(mode="after")
    def _reachable(self) -> McpServer:
        # claude ignores an entry without its address silently
        needed = "command" if self.type == "stdio" else "url"
        if not getattr(self, needed):
            raise ValueError(f"a server of type {self.type} needs `{needed}`")
        return self

    def entry(self) -> dict[str, Any]:
        """The entry as claude's `--mcp-config` takes it."""
        common = {"type": self.type, "alwaysLoad": True}
        if self.type == "stdio":
            return {**common, "command": self.command, "args": self.args, "env": self.env}
        return {**common, "url": self.url, "headers": self.headers}


_LISTED = TypeAdapter(dict[str, Any])
_SERVERS = TypeAdapter(dict[str, McpServer])


def read_servers(file: Path | None) -> dict[str, McpServer]:
    """The servers opted in for subagents. Raises ConfigurationError."""
    if file is None:
        return {}
    try:
        listed = _LISTED.validate_json(read_given(file))
        # what is not meant for subagents is another program's, whatever it looks like
        meant = {name: entry for name, entry in listed.items() if _is_meant(entry)}
        servers = _SERVERS.validate_python(meant)
    except OSError as error:
        raise ConfigurationError(
            f"mcp_servers_file {file}: {error.strerror}; name a readable file",
            name=_SETTING,
            path=file,
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ConfigurationError(
            f"mcp_servers_file {file}: {where}: {first['msg']}", name=_SETTING, path=file
        ) from None
    if SIGNAL in servers:
        raise ConfigurationError(
            f"mcp_servers_file {file}: {SIGNAL}: this name is the subagent's own server; rename it",
            name=_SETTING,
            path=file,
        )
    return {name: server for name, server in servers.items() if server.availableToSubagents}


def _is_meant(entry: object) -> bool:
    if not isinstance(entry, dict) or entry.get("enable", True) is False:
        return False
    return entry.get("availableToSubagents", False) is not False


class ConfigFiles:
    """One configuration file per run, private, there only while the run is."""

    def __init__(
        self,
        runtime_dir: Path,
        servers: dict[str, McpServer],
        signal_url: Callable[[str], str],
        *,
        is_ours: Callable[[str], bool] = lambda url: False,
    ) -> None:
        """`signal_url` turns a run's token into the address of its signal server.

        `is_ours` says whether an address is that of this daemon.
        """
        self._folder = runtime_dir / "mcp"
        self._servers = servers
        self._signal_url = signal_url
        self._is_ours = is_ours
        private_directory(self._folder)
        # what a crashed daemon left holds tokens that nobody knows any more
        for stale in self._folder.iterdir():
            try:
                stale.unlink()
            except OSError as error:
                raise ConfigurationError(
                    f"{stale} is in the way: {error.strerror}; remove it", path=stale
                ) from None

    def grant(
        self,
        run_id: str,
        *,
        token: str | None,
        servers: frozenset[str] | None = None,
        owner: bool = True,
    ) -> Grant:
        """Write the run's file; without any server there is none.

        Without `owner` no server is granted that would make the subagent an owner of others: none
        by the name `subagent`, and none at an address of this daemon.
        """
        granted = {
            name: server
            for name, server in self._servers.items()
            if (servers is None or name in servers)
            and (owner or not (name == OWNER or self._is_ours(server.url or "")))
        }
        entries = {name: server.entry() for name, server in granted.items()}
        allowed = [
            f"mcp__{name}" if tool == "*" else f"mcp__{name}__{tool}"
            for name, server in granted.items()
            for tool in server.allowedTools
        ]
        if token is not None:
            entries[SIGNAL] = {
                "type": "http",
                "url": self._signal_url(token),
                "alwaysLoad": True,
            }
            allowed.append(f"mcp__{SIGNAL}")
        if not entries:
            return Grant(None, ())
        file = self._file(run_id)
        try:
            write_private(file, json.dumps({"mcpServers": entries}).encode())
        except OSError as error:
            raise Refused(
                f"{file.parent} cannot be written: {error.strerror}; make room in runtime_dir, or"
                " restart the daemon if the directory is gone",
                kind="failed",
                path=file.parent,
            ) from None
        return Grant(file, tuple(allowed))

    def withdraw(self, run_id: str) -> None:
        """Remove the run's file."""
        try:
            self._file(run_id).unlink(missing_ok=True)
        except OSError as error:
            log.error("%s stays: %s", self._file(run_id), error.strerror)

    def _file(self, run_id: str) -> Path:
        return self._folder / f"{run_id}.json"
