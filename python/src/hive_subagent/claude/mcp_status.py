"""Which MCP servers claude has connected, as each of its `init` lines says.

A server that does not connect stops nothing: claude goes on without its tools and tells its model
nothing of that (measured with 2.1.197 and 2.1.332). An entry of a wrong shape is not even listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hive_subagent.models.session import McpServerStatus
from hive_subagent.system.sanitize import on_one_line

WORD_LIMIT = 100
"""Characters of a name or a status that are passed on."""

MOST_TOLD = 20
"""Servers that are told of."""

_CONNECTED = "connected"
# it may connect yet; then its tools are there from the next request on
_PENDING = "pending"
_UNLISTED = "not listed"


@dataclass(frozen=True)
class McpServers:
    """The servers of one `init` line by name, each with claude's word for its status."""

    statuses: Mapping[str, str]

    @classmethod
    def of(cls, init: Mapping[str, Any]) -> McpServers:
        """Those that an `init` line lists; whatever has another shape is passed over."""
        listed = init.get("mcp_servers")
        return cls(
            {
                _word(server.get("name")): _word(server.get("status"))
                for server in (listed if isinstance(listed, list) else [])
                if isinstance(server, dict)
            }
        )

    @property
    def not_connected(self) -> list[McpServerStatus]:
        """Those that are listed and not connected."""
        return [
            McpServerStatus(name=name, status=status)
            for name, status in self.statuses.items()
            if status != _CONNECTED
        ][:MOST_TOLD]

    def why_missing(self, name: str) -> str | None:
        """Why a granted server's tools are not there; None where they are, or may come yet."""
        status = self.statuses.get(name, _UNLISTED)
        return None if status in (_CONNECTED, _PENDING) else status


def _word(said: object) -> str:
    return on_one_line(str(said)[:WORD_LIMIT])[:WORD_LIMIT]
