"""Environments that users have, with nothing set but what keeps the CLI offline."""

from __future__ import annotations

import json

import pytest
from support.proxy import Proxy
from support.readme import ReadmeDaemon

from e2e.sandbox import QUIET
from e2e.script import say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e

LOGIN = {"primaryApiKey": "sk-ant-api03-not-a-key", "hasCompletedOnboarding": True}


@on_both_versions
async def test_the_readmes_commands_serve_a_user_who_is_logged_in_behind_a_proxy(
    world: World,
) -> None:
    """Issue 9, 14, 15, 25: each child was "Not logged in", and the proxy was sent its token."""
    named = world.api.script(use("mcp__signal__goal_reached", summary="all of it"), say("well"))
    plain = world.api.script(say("done"))
    with Proxy() as proxy:
        made = ReadmeDaemon(
            world.sandbox.root / "readme",
            world.program,
            **QUIET,
            HIVE_SUBAGENT_CHILD_ENV=json.dumps([*QUIET]),
            ANTHROPIC_BASE_URL=world.api.url,
            HTTP_PROXY=proxy.url,
            HTTPS_PROXY=proxy.url,
        )
        (made.home / ".claude.json").write_text(json.dumps(LOGIN))
        made.begin_serving()
        try:
            session = await made.run("the brief", trigger=plain)
            assert (session["state"], session["result"]) == ("idle", "done")
            goal = await made.run("the brief", trigger=named, goal="be done", max_turns=2)
            assert goal["stop_reason"] == "goal_reached"
            again = await made.must("continue", name=session["name"], prompt=plain)
            assert again["session_id"] == session["session_id"]
            assert (await made.ended(session["name"]))["state"] == "idle"
        finally:
            assert made.stop() == 0, made.log
    assert made.children() == {}
    assert [asked for asked in proxy.asked if "127.0.0.1" in asked or "/signal/" in asked] == []
