"""A daemon that knows its agent's name serves no other agent's client. Issue 11, 12b."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent
from support import rpc
from support.daemon import Daemon
from support.stub import script, text

from hive_subagent.server.mcp_server import AGENT_HEADER, misdirected


@pytest.fixture(scope="module")
def scouts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """The daemon of agent scout."""
    made = Daemon(tmp_path_factory.mktemp("scouts"), settings={"agent_name": "scout"})
    made.start()
    yield made
    assert made.stop() == 0


@pytest.fixture
async def forges_client(scouts: Daemon) -> AsyncIterator[Client]:
    """An MCP client whose entry was made for agent forge, and which reaches scout's daemon."""
    async with (
        httpx2.AsyncClient(headers={AGENT_HEADER: "forge"}) as http,
        Client(streamable_http_client(f"{scouts.url}/mcp", http_client=http)) as client,
    ):
        yield client


async def test_another_agents_client_is_shown_whose_daemon_it_has_reached(
    scouts: Daemon, forges_client: Client
) -> None:
    """Issue 11, 12b: it connects and lists the tools, and each call says why it is refused."""
    names = [tool.name for tool in (await forges_client.list_tools()).tools]
    assert "start" in names
    for name in names:
        answer = await forges_client.call_tool(name, {"name": "x", "prompt": script(text("x"))})
        (part,) = answer.content
        assert isinstance(part, TextContent)
        assert answer.is_error
        assert part.text.startswith('This daemon belongs to agent "scout", and nothing was done: ')
        assert 'agent "forge"' in part.text
        assert len(part.text.splitlines()) == 1
    assert (
        rpc.call(f"{scouts.url}/mcp", "status", {}, {AGENT_HEADER: "scout"}).data["sessions"] == []
    )


@pytest.mark.parametrize("value", [None, "", "Scout", "scout ,scout", "scouts"])
def test_a_call_without_the_very_name_is_refused(scouts: Daemon, value: str | None) -> None:
    """Issue 11, 12b."""
    headers = {} if value is None else {AGENT_HEADER: value}
    answer = rpc.call(f"{scouts.url}/mcp", "status", {}, headers)
    assert answer.is_error
    assert 'belongs to agent "scout"' in answer.text


async def test_the_agents_own_client_is_served(scouts: Daemon) -> None:
    """Issue 11, 12b: the case of a header's name does not count."""
    given = {"name": "mine", "prompt": script(text("done"))}
    answer = rpc.call(f"{scouts.url}/mcp", "start", given, {AGENT_HEADER.lower(): "scout"})
    assert not answer.is_error, answer.text
    scouts.headers = {AGENT_HEADER: "scout"}
    assert (await scouts.ended("mine"))["result"] == "done"


async def test_a_subagents_own_server_asks_for_no_name(scouts: Daemon) -> None:
    """Issue 11, 12b: its token says whose it is."""
    scouts.headers = {AGENT_HEADER: "scout"}
    done = await scouts.run(script({"mcp": "signal/goal_reached"}, text("x")), goal="reach it")
    assert done["stop_reason"] == "goal_reached"


def test_health_says_whose_daemon_it_is(scouts: Daemon, daemon: Daemon) -> None:
    """Issue 11, 12b."""
    for asked, name in ((scouts, "scout"), (daemon, None)):
        assert json.loads(rpc.request(f"{asked.url}/healthz").body)["agent"] == name


def test_without_the_setting_any_name_is_served(daemon: Daemon) -> None:
    """Issue 11, 12b: an entry with the header also suits a daemon that is not set to a name."""
    for headers in ({}, {AGENT_HEADER: "forge"}):
        assert not rpc.call(f"{daemon.url}/mcp", "status", {}, headers).is_error


def test_a_refusal_says_what_to_do() -> None:
    """Issue 11, 12b."""
    assert misdirected("scout", ["scout"]) is None
    other = misdirected("scout", ["forge"]) or ""
    assert "give one of them another" in other
    nobody = misdirected("scout", []) or ""
    assert 'add the header "X-Hive-Agent: scout"' in nobody
    # a name of any size, with whatever in it, stays one line of bounded size
    hostile = misdirected("scout", ["x\r\n" * 100_000]) or ""
    assert len(hostile.splitlines()) == 1
    assert len(hostile) < 1_500
    assert misdirected("scout", ["scout", "scout"]) is not None
