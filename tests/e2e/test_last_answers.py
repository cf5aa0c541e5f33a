"""Ends of turns that are not what they look like, with the real CLI."""

from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.script import Say, Use, bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


def hook(world: World, event: str, command: str) -> None:
    """A hook of the project that the sessions work in."""
    settings = world.sandbox.dir / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    entry = {"hooks": [{"type": "command", "command": command}]}
    settings.write_text(json.dumps({"hooks": {event: [entry]}}))


@on_both_versions
async def test_all_text_blocks_of_the_last_message_are_told(world: World) -> None:
    """Issue 9, 7: claude's result is the last of them."""
    named = world.api.script(bash("true"), Say(text="one", further=("two", "three")))
    async with world.daemon():
        await world.start("lint", named)
        session = await world.ended("lint")
    assert session["result"] == "one\n\ntwo\n\nthree"


@on_both_versions
async def test_the_last_text_stands_in_for_an_empty_final_message(world: World) -> None:
    """Issue 9, 8: the run had finished its turn, with nothing."""
    beside = Say(text="The answer is 42.", tools=(Use("Bash", {"command": "true"}),))
    named = world.api.script(beside, *[say("")] * 5)
    async with world.daemon():
        await world.start("lint", named)
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "The answer is 42.")
    assert session["result_beside_tool"]
    (notice,) = world.notices()
    assert "> The answer is 42." in notice["text"]


@on_both_versions
async def test_a_turn_that_said_nothing_is_told_as_such(world: World) -> None:
    """Issue 9, 8."""
    named = world.api.script(bash("true"), *[say("")] * 5)
    async with world.daemon():
        await world.start("lint", named)
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "")
    (notice,) = world.notices()
    assert "It said nothing." in notice["text"]


@on_both_versions
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo no such work >&2; exit 2", "no such work"),
        ("echo '" + json.dumps({"decision": "block", "reason": "no such work"}) + "'", "no such"),
        ("echo '" + json.dumps({"continue": False, "stopReason": "no such work"}) + "'", "no such"),
    ],
    ids=["exit-2", "block", "continue-false"],
)
async def test_a_blocked_prompt_is_a_failure_and_ends_the_loop(
    world: World, command: str, said: str
) -> None:
    """Issue 9, 10: it was told as finished, and a goal run repeated it to the cap."""
    flag = world.sandbox.root / "flag"
    hook(world, "UserPromptSubmit", f"test -e {flag} || {{ touch {flag}; exit 0; }}; {command}")
    named = world.api.script(say("one"), say("two"))
    async with world.daemon():
        await world.start("lint", named, goal="it builds", max_turns=9)
        session = await world.ended("lint")
    assert (session["state"], session["turn"]) == ("failed", 2)
    assert said in session["message"]
    assert "[[script" not in session["message"]
    assert session["cause"] == "blocked"
    assert len(world.api.of(named)) == 1
    assert [notice["kind"] for notice in world.notices()] == ["failed"]


async def test_a_prompt_of_a_byte_order_mark_is_a_failure(world: World) -> None:
    """Issue 9, 10. 2.1.197 gives it to its model."""
    async with world.daemon():
        await world.start("lint", world.api.script(say("one")))
        await world.ended("lint")
        await world.must("continue", name="lint", prompt="\ufeff")
        session = await world.ended("lint")
    assert (session["state"], session["message"][:12]) == ("failed", "Blank prompt")


@on_both_versions
async def test_an_overridden_stop_hook_is_told(world: World) -> None:
    """Issue 9, 11. 2.1.197 says nothing itself."""
    hook(world, "Stop", "echo '" + json.dumps({"decision": "block", "reason": "go on"}) + "'")
    named = world.api.script(*(say(f"answer {n}") for n in range(1, 12)))
    async with world.daemon():
        await world.start("lint", named)
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "answer 9")
    assert "9 " in session["warning"]
    (notice,) = world.notices()
    assert f"> {session['warning'][:80]}" in notice["text"]


def names(session: dict[str, Any]) -> list[str]:
    return [process["command"] for process in session["ended_processes"]]


@on_both_versions
async def test_a_server_that_a_tool_left_behind_is_ended_and_named(world: World) -> None:
    """Issue 9, 1: it stood in the log alone."""
    named = world.api.script(
        bash("setsid perl -e 'sleep 300' >/dev/null 2>&1 </dev/null &"), say("it serves")
    )
    async with world.daemon():
        await world.start("lint", named)
        session = await world.ended("lint")
        assert world.alive() == {}
    assert session["stop_reason"] == "turn_ended"
    assert names(session) == ["perl -e sleep 300"]
    (notice,) = world.notices()
    assert "perl -e sleep 300" in notice["text"]


@on_both_versions
async def test_an_ordinary_run_leaves_nothing_to_name(world: World) -> None:
    """Issue 9, 1: neither claude's own servers nor the shells of its tools."""
    server = world.sandbox.root / "servers.json"
    stub = "import sys\nfor line in sys.stdin: pass\n"
    entry = {"command": "python3", "args": ["-c", stub], "availableToSubagents": True}
    server.write_text(json.dumps({"slow": {"type": "stdio", **entry}}))
    world.settings = {"mcp_servers_file": str(server)}
    world.environment = {"MCP_TIMEOUT": "1000"}
    named = world.api.script(bash("true"), use("Read", file_path="/etc/hostname"), say("done"))
    async with world.daemon():
        await world.start("lint", named)
        session = await world.ended("lint")
    assert (session["result"], names(session)) == ("done", [])
