"""What each permission mode lets a session with nobody to ask do: the table of the lattice's page.

Its order rests on this, so a claude for which it no longer holds must not go unnoticed.
"""

from __future__ import annotations

import json

import pytest

from e2e.extra_mcp import extra_server
from e2e.fake_api import Call
from e2e.ground import Ground
from e2e.install import CURRENT
from e2e.script import Step, bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World
from hive_subagent.permissions import MODES, PermissionMode

pytestmark = pytest.mark.e2e

LOOKS = {"read", "shell that reads"}
APPROVED = {"approved server"}
EDITS = {"shell that writes", "write"}
JUDGED = {"write elsewhere", "other shell", "other server", "web search"}
ELSEWHERE = {"read elsewhere"}


def expected(mode: PermissionMode, *, old: bool) -> set[str]:
    match mode:
        case "plan":
            # 2.1.197 lets what is approved run even in plan mode
            return LOOKS | (APPROVED if old else ELSEWHERE)
        case "dontAsk" | "default":
            return LOOKS | APPROVED
        case "acceptEdits":
            return LOOKS | APPROVED | EDITS
        case "auto":
            return LOOKS | APPROVED | EDITS | ELSEWHERE
        case "bypassPermissions":
            return LOOKS | APPROVED | EDITS | ELSEWHERE | JUDGED


def probes(ground: Ground) -> dict[str, Step]:
    return {
        "read": use("Read", file_path=str(ground.dir / "near.txt")),
        "read elsewhere": use("Read", file_path=str(ground.outside / "far.txt")),
        "shell that reads": bash("cat near.txt"),
        "shell that writes": bash("echo x > redirected.txt"),
        "other shell": bash("perl -e 'print 1'"),
        "write": use("Write", file_path=str(ground.dir / "new.txt"), content="x"),
        "write elsewhere": use("Write", file_path=str(ground.outside / "new.txt"), content="x"),
        "approved server": use("mcp__shared__tell", words="hello"),
        "other server": use("mcp__shared__hush"),
        "web search": use("WebSearch", query="anything"),
    }


def went_well(call: Call) -> list[bool]:
    """Whether each tool call of the conversation so far did, in order."""
    blocks = [
        block
        for message in call.messages
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    results = {
        b["tool_use_id"]: not b.get("is_error") for b in blocks if b["type"] == "tool_result"
    }
    return [results[block["id"]] for block in blocks if block["type"] == "tool_use"]


@on_both_versions
@pytest.mark.parametrize("mode", MODES)
async def test_a_mode_allows_what_the_table_says(world: World, mode: PermissionMode) -> None:
    ground = Ground(world)
    tried = probes(ground)
    named = world.api.script(*tried.values(), say("tried it all"))
    async with extra_server() as extra:
        shared = {
            "type": "http",
            "url": extra.url,
            "allowedTools": ["tell"],
            "availableToSubagents": True,
        }
        file = world.sandbox.root / "servers.json"
        file.write_text(json.dumps({"shared": shared}))
        world.settings = {
            "permission_mode": mode,
            "mcp_servers_file": str(file),
            "setting_sources": "" if mode == "bypassPermissions" else None,
        }
        async with world.daemon():
            await world.start("probe", named)
            session = await world.ended("probe")
    assert session["result"] == "tried it all"
    did = [
        name for name, well in zip(tried, went_well(world.api.of(named)[-1]), strict=True) if well
    ]
    assert set(did) == expected(mode, old=world.version != CURRENT)
