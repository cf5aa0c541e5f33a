"""What a run cannot do without, and how it fails where claude says that it is not there."""

from __future__ import annotations

from hive_subagent.claude.mcp_config import SIGNAL
from hive_subagent.claude.mcp_status import McpServers
from hive_subagent.claude.outcome import Failed
from hive_subagent.models.session import FailureCause


def without_signals(servers: McpServers | None) -> Failed | None:
    """How a run with a goal fails that has no signals; None where it has, or nobody knows yet.

    It would spend its turns to the last one without a chance to report its goal.
    """
    why = servers.why_missing(SIGNAL) if servers is not None else None
    if why is None:
        return None
    return Failed(
        f"its MCP server `{SIGNAL}` did not connect ({why}): without it, it can neither report its"
        " goal reached nor ask for help",
        FailureCause.MCP,
    )
