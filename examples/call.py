#!/usr/bin/env python3
"""Call one tool of a running hive-subagent-daemon; needs Python alone.

    call.py status
    call.py start '{"name": "lint", "prompt_file": "lint.md"}'
    call.py --field pid start '{"name": "lint", "prompt_file": "lint.md"}'
    call.py delegate examples/delegation.json

The daemon is found by --url, else by the file daemon.json in the directory that the variable
RUNTIME names (the daemon's `runtime_dir`), else at http://127.0.0.1:8717. Where the daemon has an
`auth_token_file`, the variable HYPERHIVE_SUBAGENT_TOKEN holds the token; where it has an
`agent_name`, --agent says it. Exit code 1: the daemon refused the call, or is not reached.
"""

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

TOKEN = "HYPERHIVE_SUBAGENT_TOKEN"
DEFAULT_URL = "http://127.0.0.1:8717"


def call(url: str, tool: str, arguments: dict[str, Any], agent: str = "") -> dict[str, Any]:
    """The tool's structured answer, whose field `text` says it in words.

    Raises SystemExit with one line when the daemon refuses the call or is not reached.
    """
    # with a token for progress `wait` says something every 25 s, so no connection looks dead
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token := os.environ.get(TOKEN):
        headers["Authorization"] = f"Bearer {token}"
    if agent:
        headers["X-Hive-Agent"] = agent
    request = urllib.request.Request(f"{url}/mcp", json.dumps(message).encode(), headers)
    # the daemon is local: a proxy of the environment would be sent the token
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as answer:
            result = json.loads(answer.read().rpartition(b"data: ")[2])["result"]
    except urllib.error.HTTPError as error:
        fix = f"; set {TOKEN} to the content of auth_token_file" if error.code == 401 else ""
        raise SystemExit(f"{url}: {error}{fix}") from None
    except OSError as error:
        raise SystemExit(f"{url}: {error}; is the daemon running there?") from None
    if result.get("isError"):
        raise SystemExit(result["content"][0]["text"])
    structured: dict[str, Any] = result["structuredContent"]
    return structured


def arguments_of(given: str) -> dict[str, Any]:
    """Arguments as JSON, or the file that holds them."""
    text = given if given.lstrip().startswith("{") else Path(given).read_text()
    arguments: dict[str, Any] = json.loads(text)
    return arguments


def address() -> str:
    """The address in daemon.json of the runtime directory that RUNTIME names, or the default."""
    runtime = os.environ.get("RUNTIME")
    if not runtime:
        return DEFAULT_URL
    try:
        return str(json.loads((Path(runtime) / "daemon.json").read_text())["url"])
    except OSError as error:
        fix = "set RUNTIME to the runtime_dir of a daemon that runs"
        raise SystemExit(f"{error}; {fix}") from None


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", help=f"address of the daemon, such as {DEFAULT_URL}")
    parser.add_argument("--agent", default="", help="name of the agent, where the daemon has one")
    parser.add_argument("--field", help="print this field of the answer in place of its text")
    parser.add_argument(
        "tool", help="start, continue, status, wait, interrupt, intervene, delegate"
    )
    parser.add_argument("arguments", nargs="?", default="{}", help="JSON, or a file that holds it")
    options = parser.parse_args()
    try:
        arguments = arguments_of(options.arguments)
    except (OSError, ValueError) as error:
        parser.error(f"the arguments are no JSON object and no file that holds one: {error}")
    answer = call(options.url or address(), options.tool, arguments, options.agent)
    shown = answer[options.field] if options.field else answer["text"]
    sys.stdout.write((shown if isinstance(shown, str) else json.dumps(shown)) + "\n")


if __name__ == "__main__":
    main()
