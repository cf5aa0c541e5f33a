"""A proxy in the daemon's environment: subagents reach the daemon all the same, and it alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support.daemon import Daemon
from support.proxy import Proxy
from support.stub import REACHED, script


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy() as made:
        yield made


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
async def test_a_goal_is_reported_past_a_proxy_that_never_sees_the_token(
    world: Daemon, proxy: Proxy, variable: str, host: str
) -> None:
    """Issue 9, 14: goal runs used all their turns, and the proxy was sent the run's address."""
    world.environment[variable] = proxy.url
    world.settings["host"] = host
    world.start()
    session = await world.run(script(REACHED), goal="be done", max_turns=2)
    assert session["stop_reason"] == "goal_reached"
    assert proxy.asked == []


async def test_what_the_operator_excludes_stays_excluded(world: Daemon) -> None:
    """Issue 9, 14."""
    world.environment |= {"NO_PROXY": "intern.example", "no_proxy": "10.0.0.0/8 .corp"}
    world.start()
    session = await world.run(script({"echo_env": True}))
    seen = json.loads(session["result"])
    assert seen["NO_PROXY"] == seen["no_proxy"]
    excluded = seen["NO_PROXY"].split(",")
    assert excluded[:3] == ["intern.example", "10.0.0.0/8", ".corp"]
    assert {"localhost", "127.0.0.1", "::1"} <= set(excluded)


async def test_an_operator_who_excludes_everything_still_does(world: Daemon) -> None:
    """Issue 9, 14: `*` counts only where it stands alone."""
    world.environment |= {"NO_PROXY": "*"}
    world.start()
    session = await world.run(script({"echo_env": True}))
    seen = json.loads(session["result"])
    assert (seen["NO_PROXY"], seen["no_proxy"]) == ("*", "*")
