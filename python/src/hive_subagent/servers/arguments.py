"""An MCP server whose refusals of arguments are one line, like every other refusal.

The SDK's own words are several lines with an address of pydantic's, and it passes over a parameter
that a tool does not have: `wait` with a misspelt `names` would wait for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from hive_subagent.servers.answers import refusal
from hive_subagent.visible import on_one_line

SHOWN = 80
"""Characters of a bad value that are shown."""


class PreciseServer(MCPServer):
    """Refuses what a tool does not take, naming the parameter and the mend."""

    def __init__(self, name: str, *, version: str, instructions: str) -> None:
        super().__init__(name, version=version, instructions=instructions)
        self._taken: dict[str, list[str]] = {}

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """As the SDK's; arguments that do not fit become a tool error of one line."""
        taken = await self._parameters(name)
        for given in arguments:
            if taken and given not in taken:
                return refusal(_unknown(given, name, taken))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                return refusal(_misfit(error.__cause__, name))
            raise

    async def _parameters(self, name: str) -> list[str]:
        if not self._taken:
            for tool in await self.list_tools():
                self._taken[tool.name] = list(tool.input_schema["properties"])
        return self._taken.get(name, [])


def _unknown(parameter: str, tool: str, taken: list[str]) -> str:
    shown = on_one_line(parameter[:SHOWN])
    return f"parameter {shown} is unknown to `{tool}`: it takes {', '.join(taken)}"


def _misfit(error: ValidationError, tool: str) -> str:
    first: Mapping[str, Any] = error.errors()[0]
    where = on_one_line(".".join(str(part) for part in first["loc"])[:SHOWN])
    if first["type"] == "missing":
        return f"parameter {where} is missing: `{tool}` needs it"
    if first["type"] == "extra_forbidden":
        return f"parameter {where} is unknown to `{tool}`: leave it out"
    value = ascii(first["input"])
    cut = value[:SHOWN] + "..." * (len(value) > SHOWN)
    return f"{where} {cut} is not usable: {first['msg'].removeprefix('Value error, ')}"
