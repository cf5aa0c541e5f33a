"""An MCP server as this daemon runs it: how its tools answer, and how a call is refused.

Answers have a text for the model and structured content for programs. A refusal is one line. The
SDK's own words are several lines with an address of pydantic's, and it ignores a parameter that a
tool does not have: `wait` with a misspelt `names` would wait for all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, Tool
from pydantic import BaseModel, ValidationError, WrapValidator
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from hive_subagent.claude.client import is_claude_code
from hive_subagent.errors import SubagentError
from hive_subagent.system.sanitize import excerpt, on_lines, on_one_line

SHOWN = 80
"""Characters of a bad value that are shown."""

AGENT_HEADER = "X-Hive-Agent"
"""Says for which agent's daemon a call is meant."""


def _none_or_text(value: Any, text: ValidatorFunctionWrapHandler) -> Any:
    return None if value is None else text(value)


if TYPE_CHECKING:
    OptionalText = str | None
else:
    # the SDK turns a text that happens to be JSON into an object, unless the annotation is `str`
    OptionalText = Annotated[str, WrapValidator(_none_or_text)]


async def answering(work: Awaitable[tuple[BaseModel, str]]) -> CallToolResult:
    """The answer of a tool: a text that is whole by itself, and all of it as structured content.

    Our own errors become tool errors word for word: their texts are made to be read. A subagent's
    words in a text have their control characters as escapes; the structured fields carry them as
    they are.
    """
    try:
        reply, text = await work
    except SubagentError as error:
        return refusal(str(error))
    text = on_lines(text)
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content={"text": text, **reply.model_dump(mode="json")},
    )


def refusal(text: str) -> CallToolResult:
    """A tool error; raised, it would reach the model with a prefix."""
    return CallToolResult(content=[TextContent(type="text", text=on_lines(text))], is_error=True)


async def text_for_claude(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Middleware: Claude Code gets the text of an answer alone, so that its model reads that.

    It would show its model the structured content instead. A tool whose answers have none may not
    promise a shape for it either.
    """
    answer = await call_next(ctx)
    headers = getattr(ctx.request, "headers", {})
    if not is_claude_code(ctx.params, headers.get("user-agent")):
        return answer
    if not isinstance(answer, dict):  # it is what goes over the wire
        return answer
    if ctx.method == "tools/call":
        return {key: value for key, value in answer.items() if key != "structuredContent"}
    if ctx.method == "tools/list":
        for tool in answer["tools"]:
            tool.pop("outputSchema", None)
    return answer


class PreciseServer(MCPServer):
    """Refuses what a tool does not take: names the parameter, and says how to fix it.

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
            values = request.headers.getlist(AGENT_HEADER) if request is not None else []
            if said := misdirected(self._agent_name, values):
                return refusal(said)
        taken = await self._parameters(name)
        for given in arguments:
            if taken and given not in taken:
                return refusal(unknown_parameter(given, name, taken))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                return refusal(misfit(error.__cause__, name))
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


def unknown_parameter(parameter: str, tool: str, taken: list[str]) -> str:
    """The refusal of a parameter that a tool does not have."""
    shown = on_one_line(parameter[:SHOWN])
    return f"parameter {shown} is unknown to `{tool}`: it takes {', '.join(taken) or 'none'}"


def misfit(error: ValidationError, tool: str) -> str:
    """The refusal of a value that a tool's parameter does not take, or of one that is missing."""
    first: Mapping[str, Any] = error.errors()[0]
    where = on_one_line(".".join(str(part) for part in first["loc"])[:SHOWN])
    if first["type"] == "missing":
        return f"parameter {where} is missing: `{tool}` needs it"
    if first["type"] == "extra_forbidden":
        return f"parameter {where} is unknown to `{tool}`: leave it out"
    value = ascii(first["input"])
    cut = value[:SHOWN] + "..." * (len(value) > SHOWN)
    return f"{where} {cut} is not usable: {first['msg'].removeprefix('Value error, ')}"


def misdirected(agent_name: str, given: Sequence[str]) -> str | None:
    """Why a call is not served by the daemon of `agent_name`; None where it is.

    Agents in one network namespace can be given the same port. The daemon that binds it first would
    then be called by the client of the other agent too. `given` are the values of the header, of
    which there has to be exactly one.
    """
    if list(given) == [agent_name]:
        return None
    ours = f'This daemon belongs to agent "{agent_name}", and nothing was done: '
    if given:
        return (
            f'{ours}your call is for agent "{excerpt(", ".join(given))}" (header {AGENT_HEADER}).'
            " The two agents are set to the same port: give one of them another, then restart its"
            " daemon (on NixOS: hyperhive.mcp.subagentHttpPort)."
        )
    return (
        f"{ours}your call does not say which agent it is for. If you are {agent_name}, add the"
        f' header "{AGENT_HEADER}: {agent_name}" to the entry of this MCP server; otherwise set'
        " its url to your own daemon."
    )
