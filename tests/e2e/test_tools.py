"""Which tools the real CLI offers, and that none of them reaches another session."""

from __future__ import annotations

import json

import anyio
import pytest

from e2e import install
from e2e.cli import ARGUMENTS, events, speaking
from e2e.script import Say, Use, bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World
from hive_subagent.claude.tools import ALWAYS_DENIED, INVENTORY

pytestmark = pytest.mark.e2e

CONFIGURATIONS = {
    "bypass": (),
    "plan": ("--permission-mode=plan",),
    "no shell": ("--disallowedTools=Bash",),
    "searching": ("--tools=Read,Grep,Glob",),
    "schema": ('--json-schema={"type":"object","properties":{}}',),
}


async def offered(world: World, *flags: str) -> set[str]:
    """The tools that `init` lists, by the names that flags know them by."""
    done = await anyio.run_process(
        [world.program, *(a for a in ARGUMENTS if "skip-permissions" not in a), *flags],
        input=b"hello",
        cwd=world.sandbox.dir,
        env=world.sandbox.alone(world.api.url),
    )
    init = next(e for e in events(done.stdout) if e.get("subtype") == "init")
    return {"Agent" if tool == "Task" else tool for tool in init["tools"]}


def test_every_pinned_version_has_an_inventory() -> None:
    """Issue 9, 6."""
    assert set(INVENTORY) == set(install.PINNED)


@on_both_versions
async def test_every_tool_that_is_offered_is_classified(world: World) -> None:
    """Issue 9, 6. A tool that is new may reach what a run must not reach: classify it."""
    for named, flags in CONFIGURATIONS.items():
        unclassified = await offered(world, *flags) - set(INVENTORY[world.version])
        assert not unclassified, f"{named}: put them into hive_subagent/claude/tools.py"


@on_both_versions
async def test_denying_them_takes_away_exactly_what_no_run_has(world: World) -> None:
    """Issue 9, 5: the shell stays, and nothing takes the place of what is gone."""
    free = await offered(world)
    denied = await offered(world, f"--disallowedTools={','.join(ALWAYS_DENIED)}")
    assert free - denied == free & set(ALWAYS_DENIED)
    assert denied <= free
    assert {"SendMessage", "ScheduleWakeup", "CronCreate"} <= free - denied


@on_both_versions
async def test_a_child_finds_no_tool_to_reach_a_sibling_or_to_be_woken(world: World) -> None:
    """Issue 9, 3 and 4; claude's own subagents have none either."""
    gate = anyio.Event()
    spy = (
        Use("ListAgents"),
        Use("SendMessage", {"to": "bee", "summary": "hello", "message": "HELLO-BEE"}),
        Use("ScheduleWakeup", {"delaySeconds": 60, "reason": "later", "prompt": "WOKEN"}),
        Use("CronCreate", {"cron": "* * * * *", "prompt": "WOKEN"}),
    )
    inner = world.api.script(Say(tools=spy), say("inner done"))
    aye = world.api.script(
        Say(tools=spy),
        use(
            "Agent",
            description="x",
            prompt=inner,
            subagent_type="general-purpose",
            run_in_background=False,
        ),
        say("aye done"),
    )
    bee = world.api.script(bash("true"), Say(text="bee done", after=gate))
    async with world.daemon():
        await world.start("bee", bee)
        await world.api.until(lambda calls: len(world.api.of(bee)) == 2)
        await world.start("aye", aye)
        assert (await world.ended("aye"))["result"] == "aye done"
        gate.set()
        assert (await world.ended("bee"))["result"] == "bee done"
    for script in (aye, inner):
        calls = world.api.of(script)
        assert calls, script
        for call in calls:
            assert set(ALWAYS_DENIED).isdisjoint(call.tools)
        results = json.dumps(calls[1].body["messages"])
        for tool in spy:
            assert f"No such tool available: {tool.name}" in results
    assert not any("HELLO-BEE" in json.dumps(call.body) for call in world.api.of(bee))


async def test_a_session_of_the_user_cannot_write_into_a_run(world: World) -> None:
    """Issue 9, 4. It shares claude's folder with the run, and has the tools."""
    gate = anyio.Event()
    bee = world.api.script(bash("true"), Say(text="bee done", after=gate))
    message = {"to": "bee", "summary": "hello", "message": "HELLO-BEE"}
    user = world.api.script(use("ListAgents"), use("SendMessage", **message), say("sent"))
    async with world.daemon():
        await world.start("bee", bee)
        await world.api.until(lambda calls: len(world.api.of(bee)) == 2)
        async with speaking(world, environment={}) as speaker:
            await speaker.send(user)
            await speaker.results(1)
            gate.set()
            assert (await world.ended("bee"))["result"] == "bee done"
            # that of the turn in which claude says what became of the message
            await speaker.results(2)
        again = world.api.script(say("undisturbed"))
        await world.must("continue", name="bee", prompt=again)
        assert (await world.ended("bee"))["result"] == "undisturbed"
    seen = json.dumps([call.body for call in world.api.calls if call.key is not None])
    assert "bee [" in seen  # it found the run
    assert "was refused" in seen
    for script in (bee, again):
        assert not any("HELLO-BEE" in json.dumps(call.body) for call in world.api.of(script))
