"""Delegation with the real CLI: what each role can and cannot do, and how a delegation ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from e2e.extra_mcp import Extra, extra_server
from e2e.processes import until_running
from e2e.script import Fail, Hang, Step, bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e

READERS = ["planner", "researcher", "reviewer", "scout"]
READING = {"Read", "Grep", "Glob", "WebFetch", "WebSearch"}
# how 2.1.332 keeps tools it has out of the first request
DEFERRING = {"DeferredToolPlaceholder", "ToolSearch"}
NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "source": ["1"],
            "outputs": [],
            "execution_count": None,
        }
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
SLEEP = "perl -e 'sleep 300'"


async def delegate(world: World, *each: tuple[str, str], **further: Any) -> dict[str, Any]:
    """Delegate (role, task) each; the answer."""
    tasks = [{"role": role, "task": task} for role, task in each]
    return await world.must("delegate", tasks=tasks, **further)


async def over(world: World, reply: dict[str, Any]) -> list[dict[str, Any]]:
    """The sessions of a delegation, once it is over."""
    waited = await world.must("wait", names=[reply["delegation"]], timeout_s=90)
    assert waited["done"], waited
    print(json.dumps(waited["sessions"], indent=1))  # shown where the test failed
    sessions: list[dict[str, Any]] = waited["sessions"]
    return sessions


def ends(world: World) -> list[str]:
    """How the children of the one delegation ended, by its one notice."""
    (notice,) = world.notices()
    assert notice["kind"] == "delegation"
    return [child["end"] for child in notice["children"]]


class Ground:
    """A directory in which everything that is written leaves a trace."""

    def __init__(self, world: World) -> None:
        self.dir = world.sandbox.dir
        self.outside = world.sandbox.root / "outside"
        self.outside.mkdir()
        (self.outside / "far.txt").write_text("FAR\n")
        (self.dir / "near.txt").write_text("NEAR\n")
        (self.dir / "notes.ipynb").write_text(json.dumps(NOTEBOOK))
        settings = {
            "permissions": {
                "defaultMode": "bypassPermissions",
                "allow": ["Bash", "Write", "Edit", "NotebookEdit", "mcp__shared"],
            },
            "hooks": {
                event: [{"hooks": [{"type": "command", "command": f"touch {self.dir}/hooked"}]}]
                for event in ("SessionStart", "UserPromptSubmit", "PostToolUse")
            },
        }
        (self.dir / ".claude").mkdir()
        (self.dir / ".claude" / "settings.json").write_text(json.dumps(settings))
        (self.dir / ".mcp.json").write_text(
            json.dumps({"mcpServers": {"own": {"command": "touch", "args": ["served"]}}})
        )
        self._before = self.content()

    def content(self) -> dict[str, bytes]:
        """Every file with what it holds."""
        roots = (self.dir, self.outside)
        return {str(f): f.read_bytes() for root in roots for f in root.rglob("*") if f.is_file()}

    @property
    def changed(self) -> set[str]:
        """The names of the files that were written, made or removed."""
        now = self.content()
        return {
            Path(path).name
            for path in {*now, *self._before}
            if now.get(path) != self._before.get(path)
        }

    def attempts(self) -> list[Step]:
        """One call for each way to write, the files read first that have to be."""
        return [
            use("Read", file_path=str(self.dir / "near.txt")),
            use("Write", file_path=str(self.dir / "new.txt"), content="x"),
            use("Write", file_path=str(self.outside / "new.txt"), content="x"),
            use("Edit", file_path=str(self.dir / "near.txt"), old_string="NEAR", new_string="x"),
            bash("echo x > redirected.txt"),
            bash("echo x >> near.txt"),
            bash("cp near.txt copied.txt"),
            bash("mkdir made && touch made/x"),
            bash("perl -e 'open(F, \">perl.txt\")'"),
            use("Read", file_path=str(self.dir / "notes.ipynb")),
            use(
                "NotebookEdit",
                notebook_path=str(self.dir / "notes.ipynb"),
                cell_id="a",
                new_source="EDITED",
            ),
            use("mcp__shared__tell", words="written"),
            use("mcp__own__anything"),
            use("Agent", description="x", prompt="write", subagent_type="general-purpose"),
            use("Task", description="x", prompt="write", subagent_type="general-purpose"),
            use("ExitPlanMode", plan="write it all"),
            bash("echo x > redirected.txt", dangerouslyDisableSandbox=True),
        ]


async def share(world: World, extra: Extra) -> None:
    """Opt a server in, with every tool approved."""
    shared = {"type": "http", "url": extra.url, "availableToSubagents": True}
    file = world.sandbox.root / "servers.json"
    file.write_text(json.dumps({"shared": shared}))
    world.settings = {**world.settings, "mcp_servers_file": str(file)}


@on_both_versions
@pytest.mark.parametrize("role", READERS)
async def test_a_role_that_reads_cannot_write_by_any_way(world: World, role: str) -> None:
    """R29."""
    ground = Ground(world)
    named = world.api.script(*ground.attempts(), say("tried it all"))
    async with extra_server() as extra:
        await share(world, extra)
        async with world.daemon():
            (session,) = await over(world, await delegate(world, (role, named)))
            assert session["result"] == "tried it all"
            # it goes on under the same ceiling
            again = world.api.script(*ground.attempts(), say("tried again"))
            await world.must("continue", name=session["name"], prompt=again)
            assert (await world.ended(session["name"]))["result"] == "tried again"
        assert extra.heard == []
    assert ground.changed == set()
    for script in (named, again):
        calls = world.api.of(script)
        assert len(calls) == len(ground.attempts()) + 1
        for call in calls:
            assert set(call.tools) <= {*READING, *DEFERRING}
        results = json.dumps(calls[-1].body["messages"])
        assert "NEAR" in results  # it did read


@on_both_versions
async def test_a_worker_writes_and_hands_nothing_on(world: World) -> None:
    target = world.sandbox.dir / "new.txt"
    named = world.api.script(
        use("Write", file_path=str(target), content="written"),
        bash("echo shell > shell.txt"),
        use("mcp__shared__tell", words="hello"),
        use("Agent", description="x", prompt="[[script s9]]", subagent_type="general-purpose"),
        say("done"),
    )
    async with extra_server() as extra:
        await share(world, extra)
        async with world.daemon():
            (session,) = await over(world, await delegate(world, ("worker", named)))
        assert extra.heard == ["hello"]
    assert session["result"] == "done"
    assert target.read_text() == "written"
    assert (world.sandbox.dir / "shell.txt").read_text() == "shell\n"
    for call in world.api.of(named):
        assert {"Agent", "Task", "Workflow", "SendMessage"}.isdisjoint(call.tools)
    assert "No such tool available: Agent" in json.dumps(world.api.of(named)[-1].body)
    assert "You are a worker" in world.api.of(named)[0].system


@on_both_versions
async def test_a_reader_under_a_confined_parent_reads_no_further_than_that(world: World) -> None:
    """R29. Claude's own plan mode reads beyond its directories, this parent does not."""
    ground = Ground(world)
    world.settings = {"permission_mode": "acceptEdits"}
    named = world.api.script(
        use("Read", file_path=str(ground.outside / "far.txt")),
        use("Grep", pattern="FAR", path=str(ground.outside), output_mode="content"),
        *ground.attempts(),
        say("tried it all"),
    )
    async with world.daemon():
        (session,) = await over(world, await delegate(world, ("scout", named)))
    assert session["result"] == "tried it all"
    assert ground.changed == set()
    results = json.dumps(world.api.of(named)[-1].body["messages"])
    assert "NEAR" in results
    assert "FAR\\n" not in results
    assert "far.txt:1" not in results


async def test_a_reader_under_a_free_parent_reads_beyond_its_directory(world: World) -> None:
    ground = Ground(world)
    named = world.api.script(
        use("Read", file_path=str(ground.outside / "far.txt")),
        use("Grep", pattern="FAR", path=str(ground.outside), output_mode="content"),
        say("read"),
    )
    async with world.daemon():
        await over(world, await delegate(world, ("scout", named)))
    results = json.dumps(world.api.of(named)[-1].body["messages"])
    assert "FAR\\n" in results
    assert "far.txt:1" in results


@on_both_versions
async def test_a_worker_writes_no_more_than_its_parent_may(world: World) -> None:
    """R29."""
    ground = Ground(world)
    world.settings = {"permission_mode": "dontAsk"}
    named = world.api.script(*ground.attempts(), say("tried it all"))
    async with world.daemon():
        (session,) = await over(world, await delegate(world, ("worker", named)))
    assert session["result"] == "tried it all"
    assert ground.changed == set()


@on_both_versions
async def test_a_goal_can_be_reported_in_plan_mode(world: World) -> None:
    named = world.api.script(say("looked"))
    reached = world.api.script(use("mcp__signal__goal_reached", summary="found"), say("there"))
    async with world.daemon():
        (session,) = await over(world, await delegate(world, ("scout", named)))
        await world.must("continue", name=session["name"], prompt=reached, goal="find it")
        session = await world.ended(session["name"])
    assert (session["stop_reason"], session["message"]) == ("goal_reached", "found")


async def test_three_children_at_once_are_told_in_one_notice(world: World) -> None:
    scripts = [world.api.script(bash("ls"), say(f"answer {n}")) for n in range(2)]
    scripts.append(world.api.script(use("Read", file_path="/etc/hostname"), say("answer 2")))
    roles = ["worker", "worker", "scout"]
    async with world.daemon():
        reply = await delegate(world, *zip(roles, scripts, strict=True))
        sessions = await over(world, reply)
    assert [session["result"] for session in sessions] == [f"answer {n}" for n in range(3)]
    assert ends(world) == ["finished"] * 3
    (notice,) = world.notices()
    for child in notice["children"]:
        assert child["cost_usd"] > 0
        assert await anyio.Path(child["transcript"]).exists()


async def test_the_first_failure_cancels_the_others_and_leaves_nothing_alive(
    world: World,
) -> None:
    world.settings = {"max_running": 3}
    release = world.api.script(
        bash("until [ -e go ]; do perl -e 'sleep 0.1'; done"), Fail(status=400)
    )
    busy, hangs = world.api.script(bash(SLEEP)), world.api.script(Hang())
    async with world.daemon():
        reply = await delegate(
            world,
            ("worker", release),
            ("worker", busy),
            ("worker", hangs),
            ("worker", world.api.script(say("never"))),
            wait_policy="fail_fast",
        )
        await until_running(world.sandbox.config, "perl -e sleep 300")
        await world.api.until(lambda calls: any(isinstance(call.step, Hang) for call in calls))
        (world.sandbox.dir / "go").touch()
        await over(world, reply)
        assert world.alive() == {}
    assert ends(world) == ["failed", "cancelled", "cancelled", "cancelled"]


async def test_a_child_over_its_time_is_ended_with_its_tool(world: World) -> None:
    named = world.api.script(bash(SLEEP), say("never"))
    quick = world.api.script(say("quick"))
    async with world.daemon():
        await over(world, await delegate(world, ("worker", named), ("worker", quick), timeout_s=6))
        assert world.alive() == {}
    assert ends(world) == ["timed_out", "finished"]


@on_both_versions
async def test_a_cancel_ends_the_whole_subtree_running_tools_included(world: World) -> None:
    world.settings = {"max_running": 2}
    deaf = f"trap '' TERM INT; setsid {SLEEP} & {SLEEP}"
    scripts = [world.api.script(bash(command)) for command in (SLEEP, deaf, SLEEP)]
    async with world.daemon():
        reply = await delegate(world, *[("worker", script) for script in scripts])
        await until_running(world.sandbox.config, "perl -e sleep 300")
        await world.api.until(lambda calls: len(calls) >= 2)
        cancelled = await world.must("interrupt", name=reply["delegation"])
        assert cancelled["ended"]
        assert world.alive() == {}
        assert any("sleep 300" in process["command"] for process in cancelled["processes"])
    assert ends(world) == ["cancelled"] * 3


async def test_a_rate_limit_in_one_child_leaves_what_the_others_did(world: World) -> None:
    """R32. The refusal shows in the state while claude waits."""
    limited = world.api.script(Fail(status=429, message="slow down"))
    done = world.api.script(say("done all the same"))
    async with world.daemon():
        reply = await delegate(world, ("worker", limited), ("worker", done))
        name = reply["names"][0]
        waits = None
        while waits is None:
            session = await world.must("status", name=name)
            assert session["state"] in ("starting", "running"), session
            waits = session["api_retry"]
        assert (waits["status"], waits["error"]) == (429, "rate_limit")
        assert waits["attempt"] >= 1
        assert waits["next_try_s"] >= 0
        await over(world, reply)
    assert ends(world) == ["failed", "finished"]
    (notice,) = world.notices()
    assert notice["children"][1]["result"] == "done all the same"
    assert "429" in notice["children"][0]["message"]
