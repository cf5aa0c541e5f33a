"""Calls the daemon from inside a machine, with the standard library alone.

    client.py health
    client.py call TOOL [ARGUMENTS-AS-JSON]

Prints the structured answer as JSON. A refused tool call prints its text and exits with 3, an
HTTP refusal prints its status and exits with 4; where nobody answers, the code is 5. Where the
daemon listens is read from its `daemon.json`, the agent's name from the `subagent` entry of the
harness, as far as they are there; `--url`, `--agent` and `--token` override.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ABOUT = Path("/run/hive-subagent/daemon.json")
ENTRIES = Path("/etc/hyperhive/extra-mcp.json")
AGENT = "X-Hive-Agent"
REFUSED, HTTP_REFUSED, UNREACHABLE = 3, 4, 5


def say(value: object) -> None:
    """One line of JSON, or of text."""
    sys.stdout.write((value if isinstance(value, str) else json.dumps(value)) + "\n")


def answer_to(number: int, response: Any) -> Any:
    """The answer with this id; the server may send it as JSON or in an event stream."""
    if response.headers.get_content_type() == "application/json":
        return json.load(response)
    for line in response:
        if line.startswith(b"data:"):
            message = json.loads(line[5:])
            if message.get("id") == number:
                return message
    raise SystemExit("the stream ended without an answer")


def agent_of_entry() -> str:
    """The agent's name as the harness would send it; blank where there is none."""
    entry = json.loads(ENTRIES.read_text()).get("subagent", {})
    name: str = entry.get("headers", {}).get(AGENT, "")
    return name


def call(
    url: str,
    token: str | None,
    tool: str,
    arguments: dict[str, Any],
    timeout: float,
    agent: str | None = None,
) -> int:
    """One tool call, without a handshake: the server keeps no sessions."""
    if agent is None:
        agent = agent_of_entry()
    headers = {
        **({AGENT: agent} if agent else {}),
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **({"Authorization": f"Bearer {token}"} if token is not None else {}),
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    request = urllib.request.Request(url + "/mcp", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=timeout) as response:
        answer = answer_to(1, response)
    if "error" in answer:
        say(json.dumps(answer["error"]))
        return REFUSED
    result = answer["result"]
    if result.get("isError"):
        say("\n".join(part.get("text", "") for part in result["content"]))
        return REFUSED
    say(result.get("structuredContent") or result["content"])
    return 0


def health(url: str, timeout: float) -> int:
    """What `/healthz` answers."""
    with urllib.request.urlopen(url + "/healthz", timeout=timeout) as response:
        say(json.load(response))
    return 0


def main() -> int:
    """Read the command line and do as it says."""
    parser = argparse.ArgumentParser(description="call the subagent daemon")
    parser.add_argument("--url")
    parser.add_argument("--agent")
    parser.add_argument("--token")
    parser.add_argument("--timeout", type=float, default=120.0)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("health")
    tool = commands.add_parser("call")
    tool.add_argument("tool")
    tool.add_argument("arguments", nargs="?", default="{}")
    given = parser.parse_args()

    url = given.url or json.loads(ABOUT.read_text())["url"]
    try:
        if given.command == "health":
            return health(url, given.timeout)
        arguments = json.loads(given.arguments)
        return call(url, given.token, given.tool, arguments, given.timeout, given.agent)
    except urllib.error.HTTPError as error:
        say(f"HTTP {error.code}")
        return HTTP_REFUSED
    except urllib.error.URLError as error:
        say(f"no answer: {error.reason}")
        return UNREACHABLE


if __name__ == "__main__":
    sys.exit(main())
