"""`transcript` of what the real CLI writes, on both versions (issue 13, 8)."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.script import Fail, Say, Use, bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


def told(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(entry["turn"], entry["kind"], entry["tool"]) for entry in answer["entries"]]


@on_both_versions
async def test_each_thing_that_the_cli_writes_down_is_told_once(world: World) -> None:
    several = Say(
        text="I look first",
        tools=(
            Use("Bash", {"command": "seq 1 3000", "description": "scripted"}),
            Use("Read", {"file_path": "/nonexistent"}),
        ),
    )
    reached = use("mcp__signal__goal_reached", summary="none left")
    named = world.api.script(several, bash("exit 3"), say("not yet"), reached, say("all done"))
    async with world.daemon():
        await world.start("lint", named, goal="no warnings left")
        await world.ended("lint")
        answer = await world.call("transcript", name="lint")
        assert told(answer.data)[:2] == [(1, "prompt", None), (1, "text", None)]
        assert sorted(told(answer.data)[2:6], key=str) == [
            (1, "tool_call", "Bash"),
            (1, "tool_call", "Read"),
            (1, "tool_error", "Read"),
            (1, "tool_result", "Bash"),
        ]
        assert told(answer.data)[6:] == [
            (1, "tool_call", "Bash"),
            (1, "tool_error", "Bash"),
            (1, "text", None),
            (2, "prompt", None),
            (2, "tool_call", "mcp__signal__goal_reached"),
            (2, "tool_result", "mcp__signal__goal_reached"),
            (2, "text", None),
        ]
        assert "said:\n> all done" in answer.text
        assert all(entry["at"] for entry in answer.data["entries"])

        found = await world.must("transcript", name="lint", search="\n2999\n")
        assert [entry["kind"] for entry in found["entries"]] == ["tool_result"]
        assert "2999" in found["entries"][0]["text"]

        pages: list[dict[str, Any]] = []
        before = None
        while True:
            page = await world.must("transcript", name="lint", last=3, before=before)
            pages = [*page["entries"], *pages]
            if (before := page["before"]) is None:
                break
        assert [(e["position"], e["kind"]) for e in pages] == [
            (e["position"], e["kind"]) for e in answer.data["entries"]
        ]

        failing = world.api.script(Fail(status=400, message="refused"))
        await world.must("continue", name="lint", prompt=failing)
        await world.ended("lint")
        last = await world.must("transcript", name="lint", last=2)
        assert told(last) == [(3, "prompt", None), (3, "error", None)]
        assert "refused" in last["entries"][1]["text"]
