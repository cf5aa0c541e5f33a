"""A subagent's shell at the owner's door, and what it finds when it looks for the token.

The shell runs as the daemon's user: docs/explanation/security.md says what that means, and these
tests hold it to that.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from support.daemon import Daemon
from support.stub import HANG, bash, script, text

from security.rude import OWNER_TOKEN, signal_urls

# asks each address it is given, with the headers it is given; prints the statuses
ASK = """
import json, sys, urllib.error, urllib.request
body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}'
def ask(url, headers, tool="status", arguments="{}"):
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    said = (body.decode() % (tool, arguments)).encode()
    asked = urllib.request.Request(url, said, kinds | headers)
    try:
        with urllib.request.urlopen(asked) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
"""

# looks for a text (given backwards, so that it does not find itself) in all it may read
SEARCH = """
import os, sys
backwards, roots = sys.argv[1], sys.argv[2:]
needle, found = backwards[::-1].encode(), []
if needle in "\\0".join(f"{k}={v}" for k, v in os.environ.items()).encode():
    found.append("environment")
for pid in filter(str.isdecimal, os.listdir("/proc")):
    for name in ("environ", "cmdline", "comm", "maps", "limits"):
        try:
            if needle in open(f"/proc/{pid}/{name}", "rb").read():
                found.append(f"/proc/{name}")
        except OSError:
            pass
for root in roots:
    for folder, _, names in os.walk(root):
        for path in (os.path.join(folder, name) for name in names):
            try:
                if os.path.isfile(path) and needle in open(path, "rb").read():
                    found.append(path)
            except OSError:
                pass
print("FOUND", sorted(set(found)))
"""


def python(daemon: Daemon, program: str, *arguments: str) -> str:
    """A shell command that runs `program`."""
    file = daemon.root / "work" / f"program-{daemon.name()}.py"
    file.write_text(program)
    return " ".join([sys.executable, str(file), *arguments])


def told_by_tools(daemon: Daemon, session: dict[str, Any]) -> str:
    """What the tools of a session printed, from its transcript."""
    (file,) = daemon.claude_dir.glob(f"projects/*/{session['session_id']}.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return "\n".join(json.dumps(line) for line in lines if line.get("type") == "user")


async def test_the_owners_route_refuses_a_shell_without_the_token(guarded: Daemon) -> None:
    own = "next(iter(__import__('glob').glob(sys.argv[2] + '/mcp/*.json')))"
    program = f"""{ASK}
signal = json.load(open({own}))["mcpServers"]["signal"]["url"]
token = signal.split("/")[-2]
owner = sys.argv[1] + "/mcp"
print("ASKED", [
    ask(owner, {{}})[0],
    ask(owner, {{"Authorization": "Bearer "}})[0],
    ask(owner, {{"Authorization": "Bearer " + token}})[0],
    ask(owner + "?token=" + token, {{}})[0],
    ask(sys.argv[1] + "/signal/x/mcp", {{}})[0],
    "is_error" in ask(signal, {{}})[1] or "isError" in ask(signal, {{}})[1],
])
"""
    does = script(bash(python(guarded, program, guarded.url, str(guarded.runtime_dir))))
    session = await guarded.run(does, goal="g", max_turns=1)
    assert "ASKED [401, 401, 401, 401, 404, True]" in told_by_tools(guarded, session)


async def test_with_the_owners_token_a_shell_is_the_owner(guarded: Daemon) -> None:
    """A token is all there is to it: whoever can read its file has it."""
    program = f"""{ASK}
token = open(sys.argv[2]).read().strip()
print("ASKED", ask(sys.argv[1] + "/mcp", {{"Authorization": "Bearer " + token}})[0])
"""
    does = script(bash(python(guarded, program, guarded.url, str(guarded.root / "token"))))
    session = await guarded.run(does)
    assert "ASKED 200" in told_by_tools(guarded, session)


async def test_without_a_token_every_shell_is_the_owner(world: Daemon) -> None:
    world.start()
    program = f"""{ASK}
print("ASKED", ask(sys.argv[1] + "/mcp", {{}})[0])
"""
    session = await world.run(script(bash(python(world, program, world.url))))
    assert "ASKED 200" in told_by_tools(world, session)


async def test_the_search_finds_a_text_wherever_it_is_planted(guarded: Daemon) -> None:
    """Issue 11, 17: the tests below would pass with a search that finds nothing."""
    word = "planted-in-three-places"
    file = guarded.root / "work" / "planted"
    file.write_text(f"so that {word} is found")
    search = python(guarded, SEARCH, word[::-1], str(file.parent))
    planted = f"PLANTED={word} sh -c 'sleep 100; : {word}' & {search}"
    session = await guarded.run(script(bash(planted)))
    found = sorted(["/proc/cmdline", "/proc/environ", str(file)])
    assert f"FOUND {found}" in told_by_tools(guarded, session)
    file.unlink()


async def test_the_owners_token_is_in_its_file_and_nowhere_else(guarded: Daemon) -> None:
    """Not in an environment, an argument, a configuration, a record or a log."""
    places = [str(guarded.root)]
    command = python(guarded, SEARCH, OWNER_TOKEN[::-1], *places)
    session = await guarded.run(script(bash(command)), goal="g", max_turns=1)
    found = [str(guarded.root / "token")]
    assert f"FOUND {found}" in told_by_tools(guarded, session)


async def test_a_siblings_token_is_in_its_configuration_and_nowhere_else(guarded: Daemon) -> None:
    """One user: a shell can read its siblings' files. It finds it there, and in no other place."""
    sibling = await guarded.begin(script(HANG), goal="g")
    (url,) = signal_urls(guarded)
    (config,) = (guarded.runtime_dir / "mcp").iterdir()
    command = python(guarded, SEARCH, url.split("/")[-2][::-1], str(guarded.root))
    session = await guarded.run(script(bash(command)))
    assert f"FOUND {[str(config)]}" in told_by_tools(guarded, session)
    await guarded.must("interrupt", name=sibling)


async def test_a_report_with_a_siblings_token_counts_as_the_siblings(
    guarded: Daemon,
) -> None:
    """It can, as documented; and the owner reads that a goal is self-reported, not checked."""
    gate = guarded.gate()
    sibling = await guarded.begin(script({"wait_file": str(gate)}, text("x")), goal="g")
    (url,) = signal_urls(guarded)
    program = f"""{ASK}
print("ASKED", ask(sys.argv[1], {{}}, "goal_reached")[0])
"""
    session = await guarded.run(script(bash(python(guarded, program, url))))
    assert "ASKED 200" in told_by_tools(guarded, session)
    gate.touch()
    assert (await guarded.ended(sibling))["stop_reason"] == "goal_reached"
    assert "not checked" in (await guarded.notice(sibling))["text"]
