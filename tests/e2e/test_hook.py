"""The stand-alone hook in sessions of the real CLI that no daemon started."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import anyio
import pytest

from e2e.cli import ARGUMENTS
from e2e.script import bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World
from hive_subagent_hook import main as hook

pytestmark = pytest.mark.e2e

TASK = "build-1"


def channel(world: World) -> Path:
    made = world.sandbox.dir / "temp" / TASK
    made.mkdir(parents=True, exist_ok=True)
    return made


async def session(world: World, prompt: str, *arguments: str) -> None:
    """One turn of a session with the hook, as the skill's snippet installs it."""
    command = shlex.join(["python3", "-IS", str(Path(hook.__file__)), *arguments])
    entry = [{"hooks": [{"type": "command", "command": command, "timeout": 10}]}]
    settings = {"hooks": {"PostToolUse": entry, "PostToolUseFailure": entry}}
    await anyio.run_process(
        [world.program, *ARGUMENTS, f"--settings={json.dumps(settings)}"],
        input=prompt.encode(),
        cwd=world.sandbox.dir,
        env=world.sandbox.alone(world.api.url, TASK_ID=TASK),
    )


def told(world: World, script: str) -> list[bool]:
    """For each request that a script answered, whether it holds an intervention."""
    return ["[PARENT INTERVENTION]" in json.dumps(call.messages) for call in world.api.of(script)]


@on_both_versions
@pytest.mark.parametrize("command", ["true", "false"], ids=["tool-succeeds", "tool-fails"])
async def test_an_intervention_is_in_the_request_after_the_tool(world: World, command: str) -> None:
    (channel(world) / "_intervene.txt").write_text("Use plan B.")
    script = world.api.script(bash(command), say("as you say"))
    await session(world, f"go on {script}")
    assert told(world, script) == [False, True]
    assert "Use plan B." in json.dumps(world.api.of(script)[1].messages)
    assert [path.name for path in channel(world).iterdir()] == ["output.txt"]


@on_both_versions
async def test_key_information_is_kept_and_reaches_no_request(world: World) -> None:
    (channel(world) / "_keyinfo.txt").write_text("The port is 9443.")
    script = world.api.script(bash("true"), say("done"))
    await session(world, f"go on {script}")
    assert len(world.api.of(script)) == 2
    assert not any("port is 9443" in json.dumps(call.body) for call in world.api.calls)
    kept = world.sandbox.dir / ".claude" / "hooks" / "state" / f"keyinfo-{TASK}.txt"
    assert kept.read_text() == "The port is 9443.\n"


@on_both_versions
async def test_what_a_parent_writes_reaches_its_subagent_and_not_itself(world: World) -> None:
    inner = world.api.script(bash("true"), say("inner done"))
    outer = world.api.script(
        bash(f"echo 'Use plan B.' >temp/{TASK}/_intervene.txt"),
        use("Agent", description="inner", prompt=inner, subagent_type="general-purpose"),
        say("outer done"),
    )
    channel(world)
    await session(world, f"go on {outer}", "--for", "subagents")
    assert told(world, inner) == [False, True]
    assert not any(told(world, outer))
