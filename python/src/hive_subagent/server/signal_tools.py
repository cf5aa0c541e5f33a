"""The MCP server `signal`: the reports of a subagent about its own run, and nothing else.

Which run that is comes from the token in the address, never from an argument: a subagent has no
field in which to name a sibling.
"""

from __future__ import annotations

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from hive_subagent import __version__
from hive_subagent.claude.client import IN_PLAN_MODE
from hive_subagent.server.mcp_server import OptionalText, refusal
from hive_subagent.sessions.order import Signals
from hive_subagent.sessions.registry import Registry

ReportFile = Annotated[OptionalText, Field(description="file you wrote a report to, if any")]


def build_signal_server(registry: Registry) -> MCPServer:
    """The server over the tokens of `registry`; one per app."""
    server = MCPServer("signal", version=__version__)

    @server.tool(name="goal_reached", structured_output=False, annotations=IN_PLAN_MODE)
    async def goal_reached(
        ctx: Context,
        summary: Annotated[OptionalText, Field(description="what was done, in short")] = None,
        report_file: ReportFile = None,
    ) -> CallToolResult:
        """Report the goal of this run reached. Call it only when that is true."""
        signals = _signals_of(registry, ctx)
        if signals is None:
            return refusal(_OVER)
        signals.report_goal(summary or "", report_file=report_file)
        return _noted("your owner gets your report that the goal is reached")

    @server.tool(name="need_help", structured_output=False, annotations=IN_PLAN_MODE)
    async def need_help(
        ctx: Context,
        message: Annotated[str, Field(description="your question, and why it matters")],
        report_file: ReportFile = None,
    ) -> CallToolResult:
        """Say that you cannot go on without an answer from your owner."""
        if not message.strip():
            return refusal("message is blank: say what you need to know")
        signals = _signals_of(registry, ctx)
        if signals is None:
            return refusal(_OVER)
        signals.ask_for_help(message, report_file=report_file)
        return _noted("your owner gets the question, and the answer comes as a message")

    return server


_OVER = "this run is over: no report is taken any more"


def _noted(what_follows: str) -> CallToolResult:
    text = f"Noted. Finish this turn now; {what_follows}."
    return CallToolResult(content=[TextContent(type="text", text=text)])


def _signals_of(registry: Registry, ctx: Context) -> Signals | None:
    request = ctx.request_context.request
    return registry.resolve(request.path_params["token"]) if request is not None else None
