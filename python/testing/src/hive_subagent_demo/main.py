"""hive-subagent-demo: start a daemon on loopback and watch it do its job.

With `--claude PROGRAM` the real CLI plays instead of the stub; it needs its usual credentials in
the environment and spends tokens.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from hive_subagent_demo.cast import CAST, Part

READY_S = 60.0
"""Seconds the daemon has until it writes daemon.json."""

STUB = "hive-subagent-stub-claude"


class Spoiled(Exception):
    """The demonstration cannot go on; the text says why."""


def main() -> int:
    """The command line. Returns 0 when each subagent ended as its part says (with the stub)."""
    parser = argparse.ArgumentParser(prog="hive-subagent-demo", description=__doc__)
    parser.add_argument("--claude", default="", help="program to run instead of the stub")
    arguments = parser.parse_args()
    claude = _find(arguments.claude or STUB)
    for_stub = not arguments.claude
    with tempfile.TemporaryDirectory(prefix="hive-subagent-demo-") as folder:
        root = Path(folder)
        _say(f"A daemon on loopback, {'the stub' if for_stub else claude} as claude.\n")
        with _daemon(root, claude, own_config=for_stub) as url:
            try:
                endings = anyio.run(_play, url, root, for_stub)
            except (Spoiled, ExceptionGroup) as error:
                _say("\n".join(str(leaf) for leaf in _leaves(error)))
                return 1
        _curtain(root)
    expected = {"finishes": "turn_ended", "reaches-its-goal": "goal_reached"}
    as_written = endings == {**expected, "gets-killed": "killed"}
    return 0 if as_written or not for_stub else 1


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


async def _play(url: str, root: Path, for_stub: bool) -> dict[str, str]:
    async with Client(f"{url}/mcp") as client:
        pids = {part.name: await _start(client, root, part, for_stub) for part in CAST}
        _say("")
        async with anyio.create_task_group() as tasks:
            for part in CAST:
                if part.killed:
                    tasks.start_soon(_kill_in_its_tool, client, part.name, pids[part.name])
            sessions = await _watch(client)
        return {s["name"]: s["stop_reason"] for s in sessions}


async def _start(client: Client, root: Path, part: Part, for_stub: bool) -> int:
    brief = root / f"{part.name}.md"
    brief.write_text(part.prompt(for_stub=for_stub))
    wishes = {"goal": part.goal} if part.goal else {}
    reply = await _call(client, "start", name=part.name, prompt_file=str(brief), **wishes)
    _say(f"start {part.name}: {part.brief}" + (f" Goal: {part.goal}." if part.goal else ""))
    return int(reply["pid"])


async def _kill_in_its_tool(client: Client, name: str, pid: int) -> None:
    """Do what the kernel's OOM killer does: SIGKILL to claude, in the middle of a tool call."""
    while True:
        view = await _call(client, "status", name=name)
        if view["state"] not in ("starting", "running"):
            return
        if view["open_tool"] and view["open_tool"]["age_s"] > 1:
            break
        await anyio.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    _say(f"  {_clock()}  (somebody sends SIGKILL to process {pid} of {name})")


async def _watch(client: Client) -> list[dict[str, Any]]:
    told: dict[str, str] = {}
    while True:
        sessions = (await _call(client, "status"))["sessions"]
        for session in sorted(sessions, key=lambda s: str(s["name"])):
            line = _line(session)
            if told.get(session["name"]) != line:
                told[session["name"]] = line
                _say(f"  {_clock()}  {line}")
        if all(s["state"] not in ("starting", "running") for s in sessions):
            return list(sessions)
        await anyio.sleep(0.2)


def _line(session: dict[str, Any]) -> str:
    turn = f"turn {session['turn']} of {session['max_turns']}" if session["goal"] else ""
    tool = f"in {session['open_tool']['name']}" if session["open_tool"] else ""
    end = f"stop_reason {session['stop_reason']}" if session["stop_reason"] else ""
    details = ", ".join(part for part in (turn, tool, end) if part)
    return f"{session['name']:<17} {session['state']:<9} {details}".rstrip()


async def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        said = " ".join(getattr(part, "text", "") for part in result.content)
        raise Spoiled(f"{tool}: {said}")
    return dict(result.structured_content)


def _curtain(root: Path) -> None:
    _say("\nWhat the owner is told, once for each:\n")
    notices = [json.loads(f.read_bytes()) for f in (root / "state" / "todos").glob("*.json")]
    for notice in sorted(notices, key=lambda n: str(n["at"])):
        _say(f"[{notice['kind']}] {notice['text']}\n")


@contextmanager
def _daemon(root: Path, claude: str, *, own_config: bool) -> Iterator[str]:
    settings = {
        "port": 0,
        "claude_bin": claude,
        "work_dir": str(root),
        "state_dir": str(root / "state"),
        "runtime_dir": str(root / "run"),
        **({"claude_config_dir": str(root / "claude")} if own_config else {}),
    }
    config = root / "daemon.json"
    config.write_text(json.dumps(settings))
    environment = dict(os.environ)
    if os.geteuid() == 0:
        # claude refuses to bypass permissions as root unless it is told that this is a sandbox
        environment["IS_SANDBOX"] = "1"
    with (root / "daemon.log").open("wb") as log:
        daemon = subprocess.Popen(
            [_find("hive-subagent-daemon"), "--config", str(config)], stderr=log, env=environment
        )
        try:
            yield _wait_until_ready(daemon, root)
        finally:
            daemon.terminate()
            daemon.wait()


def _wait_until_ready(daemon: subprocess.Popen[bytes], root: Path) -> str:
    ready = root / "run" / "daemon.json"
    deadline = time.monotonic() + READY_S
    while not ready.exists():
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise SystemExit((root / "daemon.log").read_text())
        time.sleep(0.05)
    return str(json.loads(ready.read_bytes())["url"])


def _find(program: str) -> str:
    """A program beside this one or beside the interpreter, else on PATH."""
    beside = (Path(place).parent / program for place in (sys.argv[0], sys.executable))
    found = next((str(path) for path in beside if path.exists()), None) or shutil.which(program)
    if found is None:
        raise SystemExit(f"{program} is not there: install it, or name it with --claude")
    return found


def _clock() -> str:
    return time.strftime("%H:%M:%S")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
