"""What the tools and their answers cost a parent that is a model."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp import Client
from support import rpc
from support.daemon import Daemon
from support.stub import HANG, NEW, OLD, need_help, script, text

from hive_subagent.delegation.roles import read_roles
from hive_subagent.delegation.service import DelegationService
from hive_subagent.intervention.service import InterventionService
from hive_subagent.server.owner_tools import build_agent_server
from hive_subagent.sessions.service import SessionService

BYTES_PER_TOKEN = 3.75
"""Of the tools as the API is given them: 6,844 bytes were counted as 1,825 tokens (issue 9, 35)."""

TOOLS_TOKENS = 1_500
STATUS_BYTES_PER_SESSION = 60

# how each names itself: 2.1.197 by its header, 2.1.332 in the request besides
CLAUDE_CODE = {
    OLD: ({"User-Agent": f"claude-code/{OLD} (sdk-cli)"}, None),
    NEW: ({"User-Agent": f"claude-code/{NEW} (sdk-cli)"}, {"name": "claude-code", "version": NEW}),
}


async def tools_as_the_api_gets_them() -> list[dict[str, Any]]:
    server = build_agent_server(
        cast(SessionService, None),
        cast(InterventionService, None),
        cast(DelegationService, SimpleNamespace(roles=read_roles(None))),
    )
    return [
        {
            "name": f"mcp__subagent__{tool.name}",
            "description": tool.description,
            "input_schema": tool.input_schema,
        }
        for tool in await server.list_tools()
    ]


async def test_the_tools_cost_a_parent_at_most_1500_tokens() -> None:
    """Issue 9, 35."""
    listed = await tools_as_the_api_gets_them()
    size = len(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode())
    assert size / BYTES_PER_TOKEN <= TOOLS_TOKENS, size


async def test_a_schema_says_each_thing_once_and_null_is_still_accepted(daemon: Daemon) -> None:
    """Issue 9, 35."""
    said = json.dumps(await tools_as_the_api_gets_them())
    assert '"title"' not in said
    assert '"null"' not in said
    await daemon.must("start", name=daemon.name(), prompt=script(text("x")), max_turns=None)


async def test_a_role_is_one_of_those_there_are(daemon: Daemon) -> None:
    """Issue 9, 34: the roles of the schema are those that the daemon has read."""
    async with Client(f"{daemon.url}/mcp") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    task = tools["delegate"].input_schema["$defs"]["OfKnownRole"]["properties"]
    assert task["role"]["enum"] == sorted(read_roles(None))


async def test_what_changes_nothing_says_so(daemon: Daemon) -> None:
    """Issue 9, 29: a parent in plan mode can call no other tool."""
    async with Client(f"{daemon.url}/mcp") as client:
        tools = (await client.list_tools()).tools
    only_reading = {
        tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint
    }
    assert only_reading == {"status", "transcript", "wait"}


def request(daemon: Daemon, version: str, method: str, **params: Any) -> dict[str, Any]:
    """The result of a request as Claude Code makes it."""
    headers, info = CLAUDE_CODE[version]
    if info is not None:
        params["_meta"] = {"io.modelcontextprotocol/clientInfo": info}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    reply = rpc.request(
        f"{daemon.url}/mcp", "POST", json.dumps(message).encode(), {**rpc.HEADERS, **headers}
    )
    assert reply.status == 200, reply
    result: dict[str, Any] = json.loads(reply.body.rpartition(b"data: ")[2])["result"]
    return result


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_claude_code_gets_the_text_alone(daemon: Daemon, version: str) -> None:
    """Issue 9, 30: its model would be shown the structured content instead, nulls and all."""
    name = (await daemon.run(script(text("done"))))["name"]
    call = {"name": "status", "arguments": {"name": name}}
    answer = request(daemon, version, "tools/call", **call)
    assert answer.get("structuredContent") is None
    (part,) = answer["content"]
    answer, _, cost = part["text"].rpartition("\n\n")
    assert answer == f"Subagent `{name}` finished its turn.\n\nIts last answer:\n> done"
    assert cost.startswith("Cost: $")
    # every other client has all of it
    whole = await daemon.must("status", name=name)
    assert whole["text"] == part["text"]
    assert {"cost_usd", "goal", "session_id"} <= whole.keys()


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_claude_code_is_promised_no_structured_content(daemon: Daemon, version: str) -> None:
    listed = request(daemon, version, "tools/list")["tools"]
    assert len(listed) == 8
    assert not any(tool.get("outputSchema") for tool in listed)
    async with Client(f"{daemon.url}/mcp") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools["start"].output_schema


async def test_forty_ended_sessions_cost_a_line_each(world: Daemon) -> None:
    """Issue 9, 30: they cost 6,500 tokens, in every look at what runs."""
    world.settings = {"max_running": 64}
    world.start()
    names = [f"worker-{number}" for number in range(40)]
    for name in names[:-1]:
        await world.begin(script(text("x" * 500)), name)
    await world.begin(script(need_help("which of the two?")), names[-1], goal="a decision")
    await world.must("wait", names=names, timeout_s=60)
    running = await world.begin(script(HANG), "runs")
    answer = request(world, NEW, "tools/call", name="status", arguments={})
    shown = json.dumps(answer["content"], ensure_ascii=False).encode()
    assert len(shown) < 41 * STATUS_BYTES_PER_SESSION + 200
    lines = answer["content"][0]["text"].splitlines()
    assert len(lines) == 42
    assert lines[0].startswith("`runs`: running, last event ")
    assert "`worker-39`: NEEDS HELP: answer it with `continue`" in lines
    assert lines.count("`worker-7`: finished") == 1
    assert lines[-1] == "`status` with a name tells what that one said."
    await world.must("interrupt", name=running, force=True)
