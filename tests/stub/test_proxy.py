"""The stand-in obeys the proxy variables as claude was measured to do."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.proxy import Proxy

from stub.process import STREAM, Home, directive
from stub.server import Fake

PROXY_VARIABLES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"]


def status_of_the_server(home: Home, server: Fake, **environment: str) -> str:
    config = {"mcpServers": {"boss": {"type": "http", "url": server.url}}}
    claude = home.say(
        directive({"text": "end"}),
        *STREAM,
        "--strict-mcp-config",
        "--mcp-config",
        json.dumps(config),
        **environment,
    )
    assert claude.result()["result"] == "end"
    init = next(line for line in claude.seen if line.get("subtype") == "init")
    return str(init["mcp_servers"][0]["status"])


@pytest.mark.parametrize("variable", PROXY_VARIABLES)
def test_each_proxy_variable_takes_even_what_is_for_loopback(
    home: Home, fake: Callable[[str], Fake], variable: str
) -> None:
    """Issue 9, 14: the proxy sees the whole address."""
    server = fake("json")
    with Proxy() as proxy:
        assert status_of_the_server(home, server, **{variable: proxy.url}) == "failed"
    assert proxy.asked[0].startswith(f"POST {server.url} HTTP/1.1\r\n")
    assert server.methods == []


@pytest.mark.parametrize("variable", ["NO_PROXY", "no_proxy"])
@pytest.mark.parametrize(
    "entry", ["127.0.0.1", "*", "example.org, 127.0.0.1", "x.y 127.0.0.1:PORT"]
)
def test_what_is_excluded_is_reached_directly(
    home: Home, fake: Callable[[str], Fake], variable: str, entry: str
) -> None:
    """Issue 9, 14."""
    server = fake("json")
    entry = entry.replace("PORT", server.base.rpartition(":")[2])
    with Proxy() as proxy:
        excluded = {"HTTP_PROXY": proxy.url, variable: entry}
        assert status_of_the_server(home, server, **excluded) == "connected"
    assert proxy.asked == []


def test_an_exclusion_of_something_else_excludes_nothing(
    home: Home, fake: Callable[[str], Fake]
) -> None:
    """Issue 9, 14."""
    with Proxy() as proxy:
        excluded = {"HTTP_PROXY": proxy.url, "NO_PROXY": "27.0.0.1,.example.org,127.0.0.1:1"}
        assert status_of_the_server(home, fake("json"), **excluded) == "failed"
    assert proxy.asked
