"""MCP servers of the operator: the opted-in ones reach a subagent, the others do not."""

from __future__ import annotations

import json

import pytest

from e2e.extra_mcp import extra_server
from e2e.script import say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


@on_both_versions
async def test_only_an_opted_in_server_reaches_a_subagent(world: World) -> None:
    """R29. Its tools are in the first request; a header takes its secret from the environment."""
    named = world.api.script(use("mcp__shared__tell", words="hello"), say("told"))
    async with extra_server() as extra:
        shared = {
            "type": "http",
            "url": extra.url,
            "headers": {"Authorization": "Bearer ${EXTRA_TOKEN}"},
            "availableToSubagents": True,
        }
        kept = {"type": "http", "url": extra.url, "headers": {"Authorization": "Bearer kept"}}
        file = world.sandbox.root / "servers.json"
        file.write_text(json.dumps({"shared": shared, "kept": kept}))
        world.settings = {"mcp_servers_file": str(file)}
        world.environment = {"EXTRA_TOKEN": "s3cret"}
        async with world.daemon():
            await world.start("lint", named)
            session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "told")
    assert (extra.heard, extra.authorizations) == (["hello"], {"Bearer s3cret"})
    tools = {tool for tool in world.api.of(named)[0].tools if tool.startswith("mcp__")}
    assert tools == {"mcp__shared__tell", "mcp__shared__hush"}


async def test_allowed_tools_are_approved_where_the_mode_is_below_bypass(world: World) -> None:
    named = world.api.script(
        use("mcp__shared__tell", words="hello"), use("mcp__shared__hush"), say("done")
    )
    async with extra_server() as extra:
        shared = {
            "type": "http",
            "url": extra.url,
            "allowedTools": ["tell"],
            "availableToSubagents": True,
        }
        file = world.sandbox.root / "servers.json"
        file.write_text(json.dumps({"shared": shared}))
        world.settings = {"mcp_servers_file": str(file), "permission_mode": "default"}
        async with world.daemon():
            await world.start("lint", named)
            session = await world.ended("lint")
    assert (session["stop_reason"], extra.heard) == ("turn_ended", ["hello"])
    body = json.dumps(world.api.of(named)[-1].body)
    assert "hushed" not in body
