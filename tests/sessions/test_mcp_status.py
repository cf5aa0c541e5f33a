"""MCP servers that do not connect: claude goes on without a word, and the daemon says so."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.house import House, house
from support.stub import HANG, NEW, OLD, bash, script, text, turns

from hive_subagent.claude.mcp_config import McpServer
from hive_subagent.claude.mcp_status import MOST_TOLD, McpServers
from hive_subagent.models.session import FailureCause, McpServerStatus, State, StopReason

NOBODY = "http://127.0.0.1:9"
DOWN = McpServer(type="http", url=f"{NOBODY}/mcp", availableToSubagents=True)
MISSING = [McpServerStatus(name="down", status="failed")]
SENTENCE = "MCP servers that did not connect, so that it has none of their tools: down (failed)."


@pytest.fixture
async def without(anyio_backend: str, tmp_path: Path) -> AsyncIterator[House]:
    """A house whose subagents are given a server that nobody serves."""
    async with house(tmp_path, servers={"down": DOWN}) as made:
        yield made


@pytest.fixture
async def deaf(anyio_backend: str, tmp_path: Path) -> AsyncIterator[House]:
    """A house whose subagents cannot reach their own signals."""
    async with house(tmp_path, signal_url=NOBODY) as made:
        yield made


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_log_status_and_notice_tell_of_a_server_that_did_not_connect(
    without: House, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    """Issue 9, 16."""
    with caplog.at_level(logging.WARNING):
        live = await without.begin(script(HANG, version=version))
        assert live.run is not None
        assert live.run.claude is not None
        claude = live.run.claude
        await claude.until(lambda: claude.conversation.mcp is not None)
        view, told = await without.service.status("agent")
        assert view.mcp_servers == MISSING
        assert SENTENCE in told
        await without.service.interrupt("agent")
    view = await without.ended()
    assert view.mcp_servers == MISSING
    (notice,) = await without.notices()
    assert SENTENCE in notice["text"]
    assert "`agent`: MCP server down did not connect: failed" in caplog.text


async def test_a_run_without_a_goal_goes_on_without_the_server(without: House) -> None:
    """Issue 9, 16."""
    view = await without.run(script(text("done")))
    assert (view.stop_reason, view.result) == (StopReason.TURN_ENDED, "done")


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("step", [HANG, text("more to do"), bash("exec sleep 100")])
async def test_a_goal_run_without_its_signals_fails_at_once(
    deaf: House, version: str, step: dict[str, Any]
) -> None:
    """Issue 9, 16: it would spend all turns and end as `turn_cap`."""
    view = await deaf.run(script(step, version=version), goal="be done", max_turns=9)
    assert (view.state, view.cause) == (State.FAILED, FailureCause.MCP)
    assert view.turn == 1
    assert "its MCP server `signal` did not connect (failed)" in (view.message or "")
    (notice,) = await deaf.notices()
    assert notice["kind"] == "failed"
    assert "Have the operator look" in notice["text"]


async def test_an_interrupt_that_comes_first_stays_an_interrupt(deaf: House) -> None:
    live = await deaf.begin(
        script(text("x"), before_init=[{"raw": '{"type":"system"}\n'}, HANG]), goal="be done"
    )
    await deaf.service.interrupt("agent", force=True)
    assert live.record.ending is not None
    assert live.record.ending.state is State.KILLED


async def test_a_goal_run_with_its_signals_beside_a_dead_server_goes_on(without: House) -> None:
    """Issue 9, 16: only its own signals are what a goal cannot do without."""
    view = await without.run(turns([text("half")], [text("whole")]), goal="be done", max_turns=2)
    assert (view.stop_reason, view.turn) == (StopReason.TURN_CAP, 2)
    assert view.mcp_servers == MISSING


def test_a_server_that_is_not_listed_is_missing_and_one_that_is_pending_is_not() -> None:
    servers = McpServers.of({"mcp_servers": [{"name": "a", "status": "pending"}, {"name": "b"}]})
    assert servers.why_missing("a") is None
    assert servers.why_missing("b") == "None"
    assert servers.why_missing("signal") == "not listed"


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["name", "status"]), inner),
)


@given(junk | st.lists(st.dictionaries(st.sampled_from(["name", "status"]), junk), max_size=60))
def test_whatever_claude_lists_is_told_on_one_line_and_within_bounds(listed: Any) -> None:
    missing = McpServers.of({"mcp_servers": listed}).not_connected
    assert len(missing) <= MOST_TOLD
    for server in missing:
        assert (server.name + server.status).isprintable()
        assert max(len(server.name), len(server.status)) <= 100
