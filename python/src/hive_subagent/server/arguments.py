"""An MCP server whose refusals of callers and of arguments are one line, like every other refusal.

The SDK's own words are several lines with an address of pydantic's, and it passes over a parameter
that a tool does not have: `wait` with a misspelt `names` would wait for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, Tool
from pydantic import ValidationError

from hive_subagent.server.agent_name import HEADER, misdirected
from hive_subagent.server.tool_answers import refusal, text_for_claude
from hive_subagent.system.sanitize import on_one_line

SHOWN = 80
"""Characters of a bad value that are shown."""


class PreciseServer(MCPServer):
    """Refuses what a tool does not take, naming the parameter and the mend.

    With `agent_name` it refuses the calls of another agent's client as well. These are tool errors,
    since a client shows them to its model; of an HTTP status the model learns nothing.
    """

    def __init__(
        self, name: str, *, version: str, instructions: str, agent_name: str | None = None
    ) -> None:
        super().__init__(
            name, version=version, instructions=instructions, middleware=[text_for_claude]
        )
        self._agent_name = agent_name
        self._taken: dict[str, list[str]] = {}

    async def list_tools(self) -> list[Tool]:
        """As the SDK's, with schemas that say each thing once: a parent pays for every word."""
        tools = await super().list_tools()
        return [
            tool.model_copy(update={"input_schema": _lean(tool.input_schema)}) for tool in tools
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """As the SDK's; a call that is not for us, or does not fit, is a tool error of one line."""
        if self._agent_name is not None and context is not None:
            request = context.request_context.request
            values = request.headers.getlist(HEADER) if request is not None else []
            if said := misdirected(self._agent_name, values):
                return refusal(said)
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


def _lean(schema: Any) -> Any:
    """A schema without titles, and without the null that stands for a parameter left out.

    Null is accepted all the same: a client may send it for what it does not give.
    """
    if isinstance(schema, list):
        return [_lean(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    # below `properties` the keys are names of parameters, one of which may be `title`
    lean = {
        key: {name: _lean(part) for name, part in value.items()}
        if key in ("properties", "$defs")
        else _lean(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
        and not (key == "default" and value is None)
    }
    choices = [part for part in lean.get("anyOf", []) if part != {"type": "null"}]
    if len(choices) == 1:
        del lean["anyOf"]
        lean = {**choices[0], **lean}
    elif choices:
        lean["anyOf"] = choices
    return lean


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
