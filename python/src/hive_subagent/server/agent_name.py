"""Whose daemon this is: a call that another agent's client makes is refused.

Agents in one network namespace can be given the same port. The daemon that binds it first would
then be called by the client of the other agent too, and would do as it says.
"""

from __future__ import annotations

from collections.abc import Sequence

from hive_subagent.system.sanitize import excerpt

HEADER = "X-Hive-Agent"


def misdirected(agent_name: str, given: Sequence[str]) -> str | None:
    """Why a call is not served by the daemon of `agent_name`; None where it is.

    `given` are the values of the header, of which there has to be exactly one.
    """
    if list(given) == [agent_name]:
        return None
    ours = f'This daemon belongs to agent "{agent_name}", and nothing was done: '
    if given:
        return (
            f'{ours}your call is for agent "{excerpt(", ".join(given))}" (header {HEADER}). The two'
            " agents are set to the same port: give one of them another, then restart its daemon"
            " (on NixOS: hyperhive.mcp.subagentHttpPort)."
        )
    return (
        f"{ours}your call does not say which agent it is for. If you are {agent_name}, add the"
        f' header "{HEADER}: {agent_name}" to the entry of this MCP server; otherwise set its url'
        " to your own daemon."
    )
