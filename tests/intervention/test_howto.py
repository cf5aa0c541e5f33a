"""The shell and the script of the how-to do what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import anyio
from support import processes
from support.daemon import Daemon
from support.stub import script, text

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "intervene.md"
CALL = sys.executable, str(ROOT / "examples" / "call.py")
TOKEN = "HYPERHIVE_SUBAGENT_TOKEN"


def block(language: str, number: int = 0) -> str:
    """A block of that language."""
    return str(re.findall(rf"```{language}\n(.+?)```", PAGE.read_text(), re.DOTALL)[number])


async def run(daemon: Daemon, *command: str, **further: str) -> subprocess.CompletedProcess[bytes]:
    environment = {"RUNTIME": str(daemon.runtime_dir), **further}
    return await anyio.run_process(command, env=environment, check=False)


def gated(daemon: Daemon, *after: dict[str, object]) -> tuple[Path, str]:
    gate = daemon.gate()
    tool = {"tool": "Bash", "input": {}, "result": "ok", "gate": str(gate)}
    return gate, script(tool, *after)


async def test_the_shells_words_arrive(daemon: Daemon) -> None:
    gate, does = gated(daemon, text("never said"))
    await daemon.begin(does, "lint")
    await daemon.in_tool("lint")
    done = await run(daemon, "/bin/sh", "-ec", block("sh", 1))
    assert done.returncode == 0, done.stderr
    channel = daemon.runtime_dir / "channels" / "lint"
    await processes.until(lambda: not list(channel.glob("_*")), "the files to be taken")
    gate.touch()
    session = await daemon.ended("lint")
    assert (session["stop_reason"], session["message"]) == (
        "stopped",
        "Cancelled: the branch was merged.",
    )
    notice = (await daemon.notice("lint"))["text"]
    assert "The staging API moved" in notice
    assert "Leave the parser alone" in notice


def test_the_shell_finds_the_daemon_where_it_is_by_default(tmp_path: Path) -> None:
    """As root and in cron there is no XDG_RUNTIME_DIR."""
    finds = block("sh", 1).partition("\nsay()")[0] + '\nprintf %s "$channel"'

    def found(**environment: str) -> subprocess.CompletedProcess[str]:
        given = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment}
        command = ["/bin/sh", "-euc", finds]
        return subprocess.run(command, env=given, capture_output=True, text=True, check=False)

    if not Path("/run/hive-subagent/daemon.json").exists():
        assert "set RUNTIME to the runtime_dir" in found().stderr
    places = {
        "state": tmp_path / ".local" / "state" / "hive-subagent" / "runtime",
        "runtime": tmp_path / "run" / "hive-subagent",
        "given": tmp_path / "given",
    }
    for place in places.values():
        place.mkdir(parents=True)
        (place / "daemon.json").touch()
    session = {"XDG_RUNTIME_DIR": str(tmp_path / "run")}
    assert found().stdout == f"{places['state']}/channels/lint"
    assert found(**session).stdout == f"{places['runtime']}/channels/lint"
    assert found(**session, RUNTIME=str(places["given"])).stdout.startswith(str(places["given"]))


async def test_a_script_that_cannot_get_through_says_what_to_do(world: Daemon) -> None:
    token = world.root / "token"
    token.write_text("t" * 40)
    token.chmod(0o600)
    world.settings["auth_token_file"] = str(token)
    world.start()
    call = *CALL, "intervene", '{"name": "lint", "kind": "info", "text": "x"}'
    for given, says in (
        ({}, f"HTTP Error 401: Unauthorized; set {TOKEN} to the content".encode()),
        ({TOKEN: "t" * 40}, b"does not run"),
        ({"RUNTIME": str(world.root)}, b"set RUNTIME to the runtime_dir of a daemon that runs"),
    ):
        done = await run(world, *call, **given)
        assert done.returncode == 1
        assert says in done.stderr
        assert done.stderr.count(b"\n") == 1


async def test_twenty_writers_of_one_file_lose_no_word(daemon: Daemon) -> None:
    pause = {"tool": "Read", "input": {}, "result": "x", "seconds": 0.05}
    gate, does = gated(daemon, {"repeat": 20, "steps": [pause]}, {"echo_seen": True})
    name = await daemon.begin(does)
    await daemon.in_tool(name)
    channel = daemon.runtime_dir / "channels" / name
    written = f"channel={channel}\n{block('sh', 3)}\nsay _intervene.txt"
    async with anyio.create_task_group() as writers:
        for number in range(20):
            writers.start_soon(run, daemon, "/bin/sh", "-ec", f"{written} 'word {number};'")
    gate.touch()
    seen = (await daemon.ended(name))["result"]
    assert [seen.count(f"word {number};") for number in range(20)] == [1] * 20


async def test_the_scripts_word_arrives(daemon: Daemon) -> None:
    gate, does = gated(daemon, {"echo_seen": True})
    name = await daemon.begin(does)
    await daemon.in_tool(name)

    async def say(kind: str, text: str) -> subprocess.CompletedProcess[bytes]:
        arguments = json.dumps({"name": name, "kind": kind, "text": text})
        return await run(daemon, *CALL, "--field", "state", "intervene", arguments)

    done = await say("redirect", "Fix only tests.")
    assert done.stdout == b"queued\n", done.stderr
    gate.touch()
    assert "[PARENT INTERVENTION] Fix only tests." in (await daemon.ended(name))["result"]
    refused = await say("info", "too late")
    assert refused.returncode == 1
    assert b"does not run" in refused.stderr
