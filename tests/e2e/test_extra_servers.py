"""MCP servers of the operator: the opted-in ones reach a subagent, the others do not."""

from __future__ import annotations

import json

import pytest

from e2e.extra_mcp import extra_server
from e2e.script import bash, say, use
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


@on_both_versions
async def test_a_server_that_does_not_connect_is_told(world: World) -> None:
    """Issue 9, 16: claude goes on without it and tells nobody but programs."""
    dead = {"type": "http", "url": "http://127.0.0.1:9/mcp", "availableToSubagents": True}
    gone = {"type": "stdio", "command": "/nonexistent/server", "availableToSubagents": True}
    file = world.sandbox.root / "servers.json"
    file.write_text(json.dumps({"dead": dead, "gone": gone}))
    world.settings = {"mcp_servers_file": str(file)}
    async with world.daemon():
        await world.start("lint", world.api.script(say("done")))
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "done")
    assert session["mcp_servers"] == [
        {"name": "dead", "status": "failed"},
        {"name": "gone", "status": "failed"},
    ]
    [notice] = world.notices()
    assert "dead (failed), gone (failed)" in notice["text"]
    assert "MCP server dead did not connect: failed" in world.log.read_text()


@on_both_versions
async def test_a_goal_run_whose_signals_a_policy_denies_fails_at_once(world: World) -> None:
    """Issue 9, 16: such a server is not even listed."""
    denied = {"deniedMcpServers": [{"serverName": "signal"}]}
    (world.sandbox.config / "settings.json").write_text(json.dumps(denied))
    assert await _without_signals(world) == "not listed"


async def test_a_goal_run_whose_signals_do_not_connect_fails_at_once(world: World) -> None:
    """Issue 9, 16: turns are not spent on a goal that cannot be reported."""
    # no server answers in a millisecond; 2.1.197 is quicker
    world.environment = {"MCP_TIMEOUT": "1"}
    assert await _without_signals(world) == "failed"


async def _without_signals(world: World) -> str:
    """Run with a goal; what is told of the signals' status in a proper failure."""
    named = world.api.script(bash("exec sleep 100"))
    async with world.daemon():
        await world.start("lint", named, goal="no warnings left")
        session = await world.ended("lint")
        assert not world.alive()
    assert (session["state"], session["cause"], session["turn"]) == ("failed", "mcp", 1)
    [notice] = world.notices()
    assert notice["kind"] == "failed"
    message = str(session["message"])
    assert message in notice["text"]
    return message.partition("`signal` did not connect (")[2].partition(")")[0]
