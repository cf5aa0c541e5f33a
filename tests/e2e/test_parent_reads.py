"""What the model of a real CLI is shown of the owner's tools, and what it may call in plan mode."""

from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.cli import speaking
from e2e.fake_api import Call
from e2e.install import CURRENT, OLDER
from e2e.script import say, use
from e2e.world import World

pytestmark = pytest.mark.e2e

both = pytest.mark.parametrize("version", [CURRENT, OLDER], indirect=True)


async def ask(world: World, named: str, *flags: str, bypass: bool = True) -> list[Call]:
    """Let a CLI that owns the daemon carry out a script; the calls of its model."""
    server = {"type": "http", "url": f"{world.url}/mcp", "alwaysLoad": True}
    config = world.sandbox.root / "owner-mcp.json"
    config.write_text(json.dumps({"mcpServers": {"subagent": server}}))
    flags = ("--strict-mcp-config", f"--mcp-config={config}", *flags)
    async with speaking(world, *flags, environment={}, bypass=bypass) as parent:
        await parent.send(f"do it {named}")
        await parent.results(1)
    return world.api.of(named)


def shown(call: Call) -> list[str]:
    """What the tools before a call of the model answered, block by block."""
    results = [
        block
        for block in call.messages[-1]["content"]
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
    return [text for block in results for text in _texts(block["content"])]


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [part["text"] for part in content]


@both
async def test_a_parents_model_reads_the_text_and_no_json(world: World) -> None:
    """Issue 9, 30: it read the text inside of JSON, with every field that was null."""
    child = world.api.script(say("the linter is happy"))
    owner = world.api.script(
        use("mcp__subagent__start", name="lint", prompt="BRIEF", trigger=child),
        use("mcp__subagent__wait", names=["lint"], timeout_s=60),
        use("mcp__subagent__status"),
        say("done"),
    )
    async with world.daemon():
        calls = await ask(world, owner)
    _, started, waited, looked = calls
    assert shown(started)[0].startswith("Subagent `lint` is running in ")
    (said,) = shown(waited)
    answer, _, cost = said.rpartition("\n\n")
    assert answer == "Subagent `lint` finished its turn.\n\nIts last answer:\n> the linter is happy"
    assert cost.startswith("Cost: $")
    assert shown(looked) == ["`lint`: finished\n`status` with a name tells what that one said."]


async def test_a_parent_in_plan_mode_looks_and_waits_and_starts_nothing(world: World) -> None:
    """Issue 9, 29."""
    child = world.api.script(say("the linter is happy"))
    owner = world.api.script(
        use("mcp__subagent__status", name="lint"),
        use("mcp__subagent__wait", names=["lint"]),
        use("mcp__subagent__continue", name="lint", prompt="more"),
        say("done"),
    )
    async with world.daemon():
        await world.start("lint", child)
        ended = await world.ended("lint")
        # the person has approved of the server; 2.1.197 asks for no hint beside that
        plan = ("--permission-mode=plan", "--allowedTools=mcp__subagent")
        calls = await ask(world, owner, *plan, bypass=False)
        assert (await world.must("status", name="lint")) == ended | {
            "text": (await world.call("status", name="lint")).text
        }
    _, looked, waited, refused = calls
    for call in (looked, waited):
        assert "> the linter is happy" in shown(call)[0]
    assert "Cannot call mcp__subagent__continue while in plan mode" in shown(refused)[0]
