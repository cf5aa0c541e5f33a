"""The real CLI as the owner: it starts a subagent, lets `wait` go to the background, and wakes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from support.programs import ours

from e2e.cli import Speaker, speaking
from e2e.script import Hang, Say, say, use
from e2e.versions import on_both_versions
from e2e.world import World

RENDERED = Path(__file__).parents[1] / "nix" / "rendered" / "vault" / "claude-mcp.json"

pytestmark = pytest.mark.e2e

TO_THE_BACKGROUND = {
    "CLAUDE_AUTO_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "1000",
}


def _guard(world: World) -> None:
    """Let the daemon want the owner's token."""
    token_file = world.sandbox.root / "token"
    token_file.write_text("owner-only")
    token_file.chmod(0o600)
    world.settings = {"auth_token_file": str(token_file)}


@asynccontextmanager
async def _owning(
    world: World,
    *,
    token: str = "owner-only",
    headers: Mapping[str, str] | None = None,
    environment: dict[str, str] = TO_THE_BACKGROUND,
) -> AsyncIterator[Speaker]:
    """A CLI that has the daemon as its MCP server."""
    server = {
        "type": "http",
        "url": f"{world.url}/mcp",
        "alwaysLoad": True,
        "headers": {"Authorization": f"Bearer {token}", **(headers or {})},
    }
    config = world.sandbox.root / "owner-mcp.json"
    config.write_text(json.dumps({"mcpServers": {"subagent": server}}))
    flags = ("--strict-mcp-config", f"--mcp-config={config}")
    async with speaking(world, *flags, environment=environment) as parent:
        yield parent


def _owner_script(world: World, child: str) -> str:
    brief = world.sandbox.root / "lint.md"
    brief.write_text("BRIEF-OF-lint\n")
    return world.api.script(
        use("mcp__subagent__start", name="lint", prompt_file=str(brief), trigger=child),
        use("mcp__subagent__wait", names=["lint"], timeout_s=3600),
        say("i shall be told"),
        say("now i know"),
    )


async def test_an_owners_wait_goes_to_the_background_and_wakes_it_with_the_ending(
    world: World,
) -> None:
    _guard(world)
    gate = anyio.Event()
    child = world.api.script(Say(text="the linter is happy", after=gate))
    owner = _owner_script(world, child)
    async with world.daemon():
        async with _owning(world) as parent:
            await parent.send(f"have it linted {owner}")
            [first] = await parent.results(1)
            assert first["result"] == "i shall be told"
            assert any("moved to the background" in json.dumps(said) for said in parent.said)
            assert len(world.api.of(owner)) == 3
            gate.set()
            [_, second] = await parent.results(2)
            assert second["result"] == "now i know"
        woken = world.api.of(owner)[-1]
        assert "the linter is happy" in woken.user_text
        assert "finished its turn" in woken.user_text
    assert [notice["kind"] for notice in world.notices()] == ["finished"]


async def test_an_owners_wait_in_the_background_outlives_the_daemons_stop_with_a_plain_answer(
    world: World,
) -> None:
    _guard(world)
    owner = _owner_script(world, world.api.script(Hang()))
    async with world.daemon() as daemon, _owning(world) as parent:
        await parent.send(f"have it linted {owner}")
        await parent.results(1)
        daemon.terminate()
        [_, second] = await parent.results(2)
        assert second["result"] == "now i know"
        assert "the daemon stopped" in world.api.of(owner)[-1].user_text
        assert await daemon.wait() == 0
    assert [notice["kind"] for notice in world.notices()] == ["killed"]


async def test_an_owners_model_is_shown_the_whole_answer_about_several_children(
    world: World,
) -> None:
    """Of one over about 50,000 characters it would see 2 KB and the name of a file."""
    _guard(world)
    names = [f"child-{number}" for number in range(6)]
    tasks = [
        {"task": world.api.script(say("x" * 7900)), "role": "worker", "name": name}
        for name in names
    ]
    owner = world.api.script(
        use("mcp__subagent__delegate", tasks=tasks, timeout_s=300),
        use("mcp__subagent__wait", names=names, timeout_s=300),
        say("now i know"),
    )
    async with world.daemon(), _owning(world, environment={}) as parent:
        await parent.send(f"have it done {owner}")
        await parent.results(1)
    shown = json.dumps(world.api.of(owner)[-1].messages[-1])
    for name in names:
        assert f"Subagent `{name}` finished its turn" in shown
    assert shown.count("x" * 4000) == 6
    assert "Output too large" not in shown


async def test_a_stranger_without_the_owners_token_has_no_tools(world: World) -> None:
    _guard(world)
    named = world.api.script(say("no tools here"))
    async with world.daemon(), _owning(world, token="guessed") as parent:
        await parent.send(f"look around {named}")
        await parent.results(1)
    assert not any("mcp__subagent" in tool for tool in world.api.of(named)[0].tools)


@on_both_versions
async def test_the_model_of_another_agents_parent_reads_whose_daemon_it_has_reached(
    world: World,
) -> None:
    """Issue 11, 12b: of an HTTP status the model would learn nothing but that tools are missing."""
    world.settings = {"agent_name": "scout"}
    owner = world.api.script(
        use("mcp__subagent__start", name="lint", prompt="lint it"), say("i see")
    )
    async with world.daemon(), _owning(world, headers={"X-Hive-Agent": "forge"}) as parent:
        await parent.send(f"have it linted {owner}")
        await parent.results(1)
    shown = json.dumps(world.api.of(owner)[-1].messages[-1])
    assert "This daemon belongs to agent" in shown
    assert "and nothing was done: your call is for agent" in shown
    assert "forge" in shown


async def test_the_agents_own_parent_is_served_by_its_header(world: World) -> None:
    """Issue 11, 12b."""
    world.settings = {"agent_name": "scout"}
    owner = _owner_script(world, world.api.script(say("linted")))
    async with (
        world.daemon(),
        _owning(world, headers={"X-Hive-Agent": "scout"}, environment={}) as parent,
    ):
        await parent.send(f"have it linted {owner}")
        await parent.results(1)
    assert "linted" in json.dumps(world.api.of(owner)[-1].messages[-1])


@on_both_versions
async def test_a_parent_without_hyperhive_takes_the_file_that_the_module_writes(
    world: World,
) -> None:
    """Issue 11, 12a: nothing of the file is changed but the port."""
    _guard(world)
    world.settings |= {"agent_name": "vault"}
    owner = _owner_script(world, world.api.script(say("linted")))
    async with world.daemon():
        config = world.sandbox.root / "claude-mcp.json"
        config.write_text(RENDERED.read_text().replace("http://127.0.0.1:8717", world.url))
        flags = (f"--mcp-config={config}", "--allowedTools=mcp__subagent")
        environment = {"HYPERHIVE_SUBAGENT_TOKEN": "owner-only"}
        async with speaking(world, *flags, environment=environment, bypass=False) as parent:
            await parent.send(f"have it linted {owner}")
            await parent.results(1)
    assert "linted" in json.dumps(world.api.of(owner)[-1].messages[-1])


def _bridge(world: World) -> tuple[str, ...]:
    """As `claude mcp add subagent -- hive-subagent mcp` sets it up."""
    server = {
        "command": str(ours("hive-subagent")),
        "args": ["--socket", str(world.runtime_dir / "operator.sock"), "mcp"],
    }
    config = world.sandbox.root / "bridge-mcp.json"
    config.write_text(json.dumps({"mcpServers": {"subagent": server}}))
    return ("--strict-mcp-config", f"--mcp-config={config}")


@on_both_versions
async def test_a_parent_reaches_the_daemon_by_the_bridge_without_a_token(world: World) -> None:
    """Issue 13, 3."""
    _guard(world)
    owner = _owner_script(world, world.api.script(say("linted")))
    async with world.daemon(), speaking(world, *_bridge(world), environment={}) as parent:
        await parent.send(f"have it linted {owner}")
        await parent.results(1)
    assert "linted" in json.dumps(world.api.of(owner)[-1].messages[-1])


async def test_a_parents_wait_goes_to_the_background_over_the_bridge_too(world: World) -> None:
    """Issue 13, 3."""
    gate = anyio.Event()
    child = world.api.script(Say(text="the linter is happy", after=gate))
    owner = _owner_script(world, child)
    async with (
        world.daemon(),
        speaking(world, *_bridge(world), environment=TO_THE_BACKGROUND) as parent,
    ):
        await parent.send(f"have it linted {owner}")
        [first] = await parent.results(1)
        assert first["result"] == "i shall be told"
        gate.set()
        [_, second] = await parent.results(2)
        assert second["result"] == "now i know"
    assert "the linter is happy" in world.api.of(owner)[-1].user_text
