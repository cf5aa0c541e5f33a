"""Environments that users have, with nothing set but what keeps the CLI offline.

A fresh home of a logged-in user, the commands of README and docs/reference/http.md, a proxy in the
environment. What is set: HOME, PATH, ANTHROPIC_BASE_URL (the scripted API), the proxy, which passes
nothing on, and as root IS_SANDBOX. The temporary folder is the machine's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import anyio.to_thread
import pytest
from support.proxy import Proxy
from support.readme import ReadmeDaemon, owning, owning_over_http

from e2e.sandbox import API_KEY
from e2e.script import say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


@contextmanager
def as_the_readme_says(world: World, proxy: Proxy, **further: str) -> Iterator[ReadmeDaemon]:
    """The daemon of a logged-in user behind a proxy; afterwards nothing of its runs lives."""
    made = ReadmeDaemon(
        world.sandbox.root,
        world.program,
        ANTHROPIC_BASE_URL=world.api.url,
        HTTP_PROXY=proxy.url,
        HTTPS_PROXY=proxy.url,
        **further,
    )
    made.begin_serving()
    try:
        yield made
    finally:
        assert made.stop() == 0, made.log
    assert made.children() == {}


def told(proxy: Proxy, *secrets: str) -> list[str]:
    """What a proxy was asked that is for loopback or holds a secret."""
    named = ("127.0.0.1", "localhost", "/signal/", API_KEY, "Bearer", *secrets)
    return [asked for asked in proxy.asked if any(name in asked for name in named)]


@on_both_versions
async def test_the_readmes_commands_serve_a_user_who_is_logged_in_behind_a_proxy(
    world: World,
) -> None:
    """Issue 9, 14, 15, 25: each child was "Not logged in", and the proxy was sent its token."""
    named = world.api.script(use("mcp__signal__goal_reached", summary="all of it"), say("well"))
    plain = world.api.script(say("done"))
    with Proxy() as proxy, as_the_readme_says(world, proxy) as made:
        session = await made.run("the brief", trigger=plain)
        assert (session["state"], session["result"]) == ("idle", "done")
        goal = await made.run("the brief", trigger=named, goal="be done", max_turns=2)
        assert goal["stop_reason"] == "goal_reached"
        again = await made.must("continue", name=session["name"], prompt=plain)
        assert again["session_id"] == session["session_id"]
        assert (await made.ended(session["name"]))["state"] == "idle"
    assert world.api.keys == {API_KEY}
    assert told(proxy, made.token) == []


@pytest.mark.parametrize("way", ["readme", "http"])
@on_both_versions
async def test_the_commands_give_the_tools_to_an_owner_behind_a_proxy(
    world: World, way: str
) -> None:
    """Issue 9, 14: the owner's own Claude Code sent the daemon's token to the proxy as well.

    Issue 12, 11: `--allowedTools mcp__subagent` is all that an owner with `-p` has to be allowed.
    """
    child = world.api.script(say("the linter is happy"))
    owner = world.api.script(
        use("ToolSearch", query="select:mcp__subagent__start,mcp__subagent__wait"),
        use("mcp__subagent__start", name="lint", prompt="the brief", trigger=child),
        use("mcp__subagent__wait", names=["lint"]),
        say("now i know"),
    )
    with Proxy() as proxy, as_the_readme_says(world, proxy) as made:
        # the bridge needs no such variable; the scripted API does, which is on loopback, too
        by_bridge = f"export NO_PROXY=127.0.0.1\n{owning('-p')}"
        commands = by_bridge if way == "readme" else owning_over_http(made.url, "-p")
        done = await anyio.to_thread.run_sync(made.own, f"have it linted {owner}", commands)
        assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["now i know"]), done
        assert "the linter is happy" in json.dumps(world.api.of(owner)[-1].messages)
        assert [notice["kind"] for notice in made.notices("lint")] == ["finished"]
    assert told(proxy, made.token) == []
