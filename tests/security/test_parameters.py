"""Every parameter of every tool, with everything that has ever meant more than it said.

A refusal is one line that can be shown to anybody; nothing is made, changed or followed by it.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from support import rpc
from support.daemon import Daemon
from support.processes import until
from support.stub import HANG, script, text

from security.rude import Load, everything_below, signal_urls

TRICKS = {
    "up": "../../no/where",
    "absolute": "/no/where",
    "nul": "a\0b",
    "newline": "a\nINFO forged",
    "return": "a\r\rb",
    "terminal": "\x1b]0;owned\x07\x1b[2J",
    "bidi": "a\u202egpj.exe",
    "half a pair": "\ud800",
    "zero width": "li\u200bnt",
    "look-alike": "\u0430gent",
    "other digits": "agent-\u0663",
    "flag": "--dangerously-skip-permissions",
    "slash command": "/clear",
    "shell": "$(touch /tmp/owned); `id`",
    "percent": "%2e%2e%2f",
    "format": "{0.__class__} %s%n",
    "home": "~/.profile",
    "nobody's home": "~no-such-user/x",
    "a group": "a:\x1b[2J\n",
    "a directory": "/",
    "a device": "/dev/zero",
    "a terminal device": "/dev/ptmx",
    "endless": "/proc/kmsg",
    "memory": "/proc/self/mem",
    "long name": "x" * 300,
    "long path": "/x" * 5_000,
    "long": "x" * 100_000,
    "blank": " \t ",
    "empty": "",
}

# what a tool does with a text, not with a name or a path: a prompt may hold anything
FREE = {"prompt", "trigger", "goal", "text", "summary", "message", "task"}

# a refusal begins with the culprit; without one the call ends at the claude that is missing, or at
# a subagent that does not run
ELSE = ("claude_bin", "nothing is known", "Parse error")
CULPRITS = {"names": ("name", *ELSE)}


NEEDED = {
    "start": ("name", "prompt_file"),
    "continue": ("name", "prompt"),
    "interrupt": ("name",),
    "wait": ("timeout_s",),
    "intervene": ("name", "kind", "text"),
    "transcript": ("name",),
    "delegate": ("tasks", "timeout_s"),
}


def parameters(schema: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """The parameters that take texts, and whether a list of them."""
    for name, about in schema["properties"].items():
        kinds = {kind.get("type"): kind for kind in about.get("anyOf", [about])}
        if "string" in kinds and "enum" not in kinds["string"]:
            yield name, False
        elif kinds.get("array", {}).get("items", {}).get("type") == "string":
            yield name, True


async def tools_of(url: str) -> dict[str, list[tuple[str, bool]]]:
    async with Client(url) as client:
        tools = (await client.list_tools()).tools
    return {tool.name: list(parameters(tool.input_schema)) for tool in tools}


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon without a claude to start: what passes every check is refused for that."""
    made = Daemon(tmp_path_factory.mktemp("idle"), settings={"claude_bin": "no-such-claude"})
    root = made.root / "odd"
    root.mkdir()
    (root / "victim").write_text("keep")
    for name, target in (("link", "victim"), ("dangling", "nowhere"), ("loop", "loop")):
        (root / name).symlink_to(root / target)
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
        made.start()
        yield made
        assert made.stop() == 0
        assert "Traceback" not in made.log, made.log


def answer_to(url: str, tool: str, given: dict[str, Any]) -> tuple[bool, str]:
    """Whether the call was refused, and the words of its answer."""
    reply = rpc.request(url, "POST", rpc.body_of(tool, given), rpc.HEADERS)
    told = json.loads(reply.body.rpartition(b"data: ")[2])
    if reply.status != 200:
        assert reply.status == 400, reply
        return True, told["error"]["message"]
    assert "result" in told, told
    words = "\n".join(part["text"] for part in told["result"]["content"])
    return told["result"]["isError"], words


def assert_fit_to_be_shown(words: str) -> None:
    """One line that acts on no terminal, of a size that fits into a model's context."""
    assert words.isprintable(), repr(words[:2_000])
    assert len(words.encode()) < 20_000
    assert "Error executing tool" not in words, words


def usual(daemon: Daemon, tool: str) -> dict[str, Any]:
    """What the other parameters of a tool are given while one is tried."""
    values: dict[str, Any] = {
        "name": "agent",
        "prompt_file": str(daemon.root / "brief.md"),
        "prompt": "go on",
        "kind": "info",
        "text": "x",
        "tasks": [{"task": "x", "role": "scout"}],
        "timeout_s": 1,
    }
    return {name: values[name] for name in NEEDED.get(tool, ())}


async def test_no_parameter_of_the_owners_tools_leads_anywhere(idle: Daemon) -> None:
    """R30 and beyond."""
    url = f"{idle.url}/mcp"
    (idle.root / "brief.md").write_text("Do what the message says.")
    tools = await tools_of(url)
    assert {"start", "continue", "status", "interrupt", "wait", "intervene"} <= set(tools)
    assert answer_to(url, "start", usual(idle, "start"))[1].startswith("claude_bin")
    before = everything_below(idle.root)
    descriptors = Load.of(idle).descriptors
    tried = 0
    odd = [str(idle.root / "odd" / name) for name in ("fifo", "socket", "link", "dangling", "loop")]
    for tool, names in tools.items():
        for parameter, many in names:
            if parameter in FREE:
                continue
            for trick in [*TRICKS.values(), *odd]:
                given = {**usual(idle, tool), parameter: [trick] if many else trick}
                refused, words = answer_to(url, tool, given)
                assert refused, (tool, parameter, trick)
                assert_fit_to_be_shown(words)
                assert words.startswith(CULPRITS.get(parameter, (parameter, *ELSE))), words
                tried += 1
    assert tried > 400
    assert everything_below(idle.root) == before
    # the last connection may still be on its way out
    await until(lambda: Load.of(idle).descriptors <= descriptors, "no descriptor more than before")


async def test_no_field_of_a_task_leads_anywhere(idle: Daemon) -> None:
    url = f"{idle.url}/mcp"
    before = everything_below(idle.root)
    for field in ("name", "role", "dir", "model"):
        for trick in TRICKS.values():
            task = {"task": "x", "role": "scout", field: trick}
            refused, words = answer_to(url, "delegate", {"tasks": [task]})
            assert refused, (field, trick)
            assert_fit_to_be_shown(words)
    assert everything_below(idle.root) == before


@pytest.mark.parametrize("odd", ["fifo", "socket", "link", "dangling", "loop", "/dev/zero", "."])
async def test_a_report_file_that_is_none_is_refused_before_anything_runs(
    idle: Daemon, odd: str
) -> None:
    """Opening a device can be enough to make it do something."""
    path = str(idle.root / "odd" / odd)
    given = {"name": "a", "prompt_file": idle.brief(), "report_file": path}
    refused, words = answer_to(f"{idle.url}/mcp", "start", given)
    assert refused
    assert words.startswith(f"report_file {path.removesuffix('/.')}")


@pytest.mark.parametrize(
    "odd", ["fifo", "socket", "dangling", "loop", "/dev/zero", "/proc/self/mem"]
)
async def test_a_prompt_file_that_is_none_is_refused_before_anything_runs(
    idle: Daemon, odd: str
) -> None:
    path = str(idle.root / "odd" / odd)
    refused, words = answer_to(f"{idle.url}/mcp", "start", {"name": "a", "prompt_file": path})
    assert refused
    assert words.startswith(f"prompt_file {path}")


async def test_a_report_file_that_becomes_a_link_during_its_run_is_not_followed(
    guarded: Daemon,
) -> None:
    gate, victim, report = (guarded.gate() for _ in range(3))
    victim.write_text("keep")
    does = script({"wait_file": str(gate)}, text("done"))
    name = await guarded.begin(does, report_file=str(report))
    report.symlink_to(victim)
    gate.touch()
    assert (await guarded.ended(name))["state"] == "idle"
    assert victim.read_text() == "keep"
    assert "was not written: a symbolic link" in (await guarded.notice(name))["text"]


async def test_no_parameter_of_a_subagents_tools_leads_anywhere(guarded: Daemon) -> None:
    """A file that cannot be one costs the ending nothing, and is told."""
    root = guarded.root / "odd"
    root.mkdir()
    (root / "victim").write_text("keep")
    (root / "link").symlink_to(root / "victim")
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "fifo")
    name = await guarded.begin(script(HANG), goal="be done")
    (url,) = signal_urls(guarded)
    paths = ["/dev/full", "/dev/ptmx", "/proc/self/mem", "a\0b", "/no/where\n\x1b[2J", "x" * 50_000]
    for file in [*paths, *(str(root / each) for each in ("fifo", "link", "loop", "."))]:
        refused, _ = answer_to(url, "need_help", {"message": "what now?", "report_file": file})
        assert not refused
    await guarded.must("interrupt", name=name)
    notice = await guarded.notice(name)
    assert notice["kind"] == "killed"
    assert notice["text"].count("was not written") == 9
    assert_fit_to_be_shown(notice["text"].replace("\n", " "))
    assert sorted(path.name for path in root.iterdir()) == ["fifo", "link", "loop", "victim"]
    assert (root / "victim").read_text() == "keep"


async def test_what_people_write_is_handed_on_as_it_is(guarded: Daemon) -> None:
    """Prompts are nobody's names: a bell and a quotation mark reach the model."""
    said = "a\0b\x1b[2J\u202e\n\"'`$(id) {0} %s"
    name = await guarded.begin(script(text("x")))
    await guarded.ended(name)
    await guarded.must("continue", name=name, prompt=said + script({"echo_prompt": True}))
    assert (await guarded.ended(name))["result"].startswith(said)
