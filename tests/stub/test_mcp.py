"""MCP servers named by --mcp-config are really connected and really called."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stub.process import BOTH_WAYS, STREAM, Claude, Home, Json, directive
from stub.server import Fake

CALL: Json = {"mcp": "boss/report", "args": {"text": "hi"}}


def configured(url: str, **further: object) -> list[str]:
    entry = {"type": "http", "url": url, **further}
    return ["--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": {"boss": entry}})]


def told(claude: Claude) -> Json:
    """The block of the first tool result."""
    block: Json = next(line for line in claude.seen if line["type"] == "user")["message"][
        "content"
    ][0]
    return block


@pytest.mark.parametrize("way", ["json", "sse", "chunked", "stateful"])
def test_a_tool_is_called_over_http(home: Home, fake: Callable[[str], Fake], way: str) -> None:
    server = fake(way)
    claude = home.say(directive(CALL, {"text": "end"}), *STREAM, *configured(server.url))
    assert claude.result()["result"] == "end"
    assert told(claude)["content"] == [{"type": "text", "text": "got hi"}]
    init = next(line for line in claude.seen if line.get("subtype") == "init")
    assert init["mcp_servers"] == [{"name": "boss", "status": "connected", "source": "dynamic"}]
    assert "mcp__boss__report" in init["tools"]
    assert server.methods == [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
    ]
    assert server.headers[-1]["user-agent"] == "claude-code/2.1.332 (sdk-cli)"
    used = next(line for line in claude.seen if line["type"] == "assistant")
    assert used["tool_use_meta"][0]["tool_name"] == "report"


def test_a_server_may_be_named_by_its_ipv6_address(home: Home) -> None:
    try:
        server = Fake("json", host="::1")
    except OSError:
        pytest.skip("there is no IPv6 here")
    try:
        claude = home.say(directive(CALL, {"text": "end"}), *STREAM, *configured(server.url))
        assert claude.result()["result"] == "end"
        assert told(claude)["content"] == [{"type": "text", "text": "got hi"}]
    finally:
        server.close()


def test_headers_of_the_configuration_are_sent(home: Home, fake: Callable[[str], Fake]) -> None:
    server = fake("json")
    arguments = configured(server.url, headers={"Authorization": "Bearer t"})
    assert home.say(directive(CALL), *STREAM, *arguments).rc() == 0
    assert {headers["authorization"] for headers in server.headers} == {"Bearer t"}


BAD_PLACES = ["[::1]:1", "[::1", "[]", "127.0.0.1:http", "127.0.0.1:99999", ".a", "x" * 70, ""]


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/mcp", "{}/elsewhere", *(f"http://{place}/mcp" for place in BAD_PLACES)],
)
def test_a_server_that_is_down_or_says_404_is_failed_and_the_turn_runs(
    home: Home, fake: Callable[[str], Fake], url: str
) -> None:
    server = fake("json")
    claude = home.say(
        directive(CALL, {"text": "end"}), *STREAM, *configured(url.format(server.base))
    )
    assert claude.result()["result"] == "end"
    init = next(line for line in claude.seen if line.get("subtype") == "init")
    assert init["mcp_servers"][0]["status"] == "failed"
    assert "No such tool available: mcp__boss__report" in told(claude)["content"]
    assert claude.rc() == 0


def test_a_tool_that_fails_or_is_not_there_is_an_error_result(
    home: Home, fake: Callable[[str], Fake]
) -> None:
    server = fake("json")
    for name in ("fail", "nothing"):
        claude = home.say(directive({"mcp": f"boss/{name}"}), *STREAM, *configured(server.url))
        assert claude.result()["subtype"] == "success"
        assert told(claude)["is_error"] is True


def test_a_slow_tool_is_cut_by_the_timeout_of_the_environment(
    home: Home, fake: Callable[[str], Fake]
) -> None:
    server = fake("json")
    script = directive({"mcp": "boss/hang"}, {"text": "end"})
    claude = home.say(script, *STREAM, *configured(server.url), MCP_TOOL_TIMEOUT="100")
    assert claude.result()["result"] == "end"
    assert told(claude)["content"] == 'MCP server "boss" tool "hang" timed out after 0.1s'
    server.wait_gone()


def test_an_interrupt_closes_the_connection_of_a_running_call(
    home: Home, fake: Callable[[str], Fake]
) -> None:
    server = fake("json")
    claude = home.start(*BOTH_WAYS, *configured(server.url))
    claude.user(directive({"mcp": "boss/hang"}))
    server.wait_call()
    claude.control("r1", "interrupt")
    assert claude.result()["terminal_reason"] == "aborted_tools"
    server.wait_gone()


@pytest.mark.parametrize(("version", "cut"), [("2.1.332", True), ("2.1.197", False)])
def test_a_message_of_priority_now_cuts_a_call_since_332(
    home: Home, fake: Callable[[str], Fake], version: str, cut: bool
) -> None:
    server = fake("json")
    claude = home.start(*BOTH_WAYS, *configured(server.url), version=version)
    claude.user(directive({"mcp": "boss/hang"}))
    server.wait_call()
    claude.user("NOW", priority="now")
    claude.control("sync", "mcp_status")
    if not cut:
        claude.until_type("control_response")
        server.release.set()
    first = claude.result()
    assert (first["subtype"], first["terminal_reason"]) == ("success", "aborted_tools")
    assert bool(told(claude).get("is_error")) == cut
    assert claude.result()["result"] == "ok: NOW"


def test_a_restarted_server_gets_the_call_again(home: Home, fake: Callable[[str], Fake]) -> None:
    """R31"""
    server = fake("stateful")
    claude = home.start(*BOTH_WAYS, *configured(server.url))
    claude.user(directive(CALL, {"text": "one"}))
    assert claude.result()["result"] == "one"
    server.session = "another life"
    claude.user(directive(CALL, {"text": "two"}))
    assert claude.result()["result"] == "two"
    assert server.methods.count("initialize") == 2
    assert not [line for line in claude.seen if "is_error" in str(line.get("tool_use_result"))]


def test_a_project_file_is_connected_unless_the_configuration_is_strict(
    home: Home, fake: Callable[[str], Fake]
) -> None:
    server = fake("json")
    (home.work / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"boss": {"type": "http", "url": server.url}}})
    )
    for arguments, names in (([], ["boss"]), (["--strict-mcp-config"], [])):
        claude = home.say("x", *STREAM, *arguments)
        init = claude.until_type("system", "init")
        assert [entry["name"] for entry in init["mcp_servers"]] == names


SERVER = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result = message["method"], {}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "raw"}}
    if method == "tools/list":
        result = {"tools": [{"name": "report"}]}
    if method == "tools/call":
        text = os.environ["WHO"] + " got " + message["params"]["arguments"]["text"]
        result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_a_server_on_pipes_is_started_and_called(home: Home) -> None:
    (home.root / "server.py").write_text(SERVER)
    entry = {
        "type": "stdio",
        "command": sys.executable,
        "args": [str(home.root / "server.py")],
        "env": {"WHO": "stdio"},
    }
    config = json.dumps({"mcpServers": {"boss": entry, "gone": {"command": "/no/such"}}})
    claude = home.say(directive(CALL), *STREAM, "--mcp-config", config)
    claude.result()
    assert told(claude)["content"] == [{"type": "text", "text": "stdio got hi"}]
    init = next(line for line in claude.seen if line.get("subtype") == "init")
    assert [entry["status"] for entry in init["mcp_servers"]] == ["connected", "failed"]
    assert claude.rc() == 0


def test_a_server_of_the_supervisor_is_reached_over_the_control_channel(home: Home) -> None:
    config = json.dumps({"mcpServers": {"boss": {"type": "sdk", "name": "boss"}}})
    claude = home.start(*BOTH_WAYS, "--mcp-config", config)
    results: dict[str, Json] = {
        "initialize": {"serverInfo": {"name": "boss"}},
        "notifications/initialized": {},
        "tools/list": {"tools": [{"name": "report"}]},
        "tools/call": {"content": [{"type": "text", "text": "sdk"}]},
    }
    claude.user(directive(CALL))
    for method, result in results.items():
        asked = claude.until_type("control_request")
        message = asked["request"]["message"]
        assert (message["method"], asked["request"]["server_name"]) == (method, "boss")
        body = {"jsonrpc": "2.0", "id": message.get("id"), "result": result}
        claude.answer(asked["request_id"], {"mcp_response": body})
    claude.result()
    assert told(claude)["content"] == [{"type": "text", "text": "sdk"}]
    init = next(line for line in claude.seen if line.get("subtype") == "init")
    assert init["mcp_servers"][0]["source"] == "sdk"


def test_it_speaks_with_the_servers_of_the_python_sdk(home: Home, sdk_server: Path) -> None:
    url = sdk_server.read_text().strip()
    claude = home.say(directive(CALL), *STREAM, *configured(url))
    claude.result()
    assert told(claude)["content"] == '{"result":"noted hi"}'
