"""Each file of examples/ does what it is an example of (issue 12, 11)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import processes, programs
from support.daemon import Daemon
from support.stub import REACHED, STUB, script, text

from docs.pages import ROOT, blocks
from hive_subagent.delegation.roles import read_roles
from hive_subagent.settings import Settings

EXAMPLES = ROOT / "examples"
UNITS = sorted((EXAMPLES / "systemd").glob("*.[st]*"))
RENDERED = ROOT / "tests" / "nix" / "rendered" / "scout"


def read(name: str) -> dict[str, Any]:
    """An example in JSON."""
    found: dict[str, Any] = json.loads((EXAMPLES / name).read_text())
    return found


def call(daemon: Daemon, *arguments: str) -> subprocess.CompletedProcess[str]:
    """examples/call.py against a daemon."""
    return subprocess.run(
        [sys.executable, EXAMPLES / "call.py", "--url", daemon.url, *arguments],
        env={},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_every_example_is_named_in_the_list() -> None:
    listed = re.findall(r"\]\(([^)]+)\)", (EXAMPLES / "README.md").read_text())
    there = {file.name for file in EXAMPLES.iterdir()} - {"README.md", "__pycache__"}
    assert there == set(listed)


async def test_the_run_with_a_goal_reaches_it_and_reports(daemon: Daemon) -> None:
    brief = (EXAMPLES / "brief-with-goal.md").read_text()
    does = script(text("All fixed."), REACHED)
    (daemon.work_dir / "brief-with-goal.md").write_text(f"{brief}\n{does}\n")
    started = call(daemon, "start", str(EXAMPLES / "start-with-goal.json"))
    assert "lint-core" in started.stdout, started.stderr
    session = await daemon.ended("lint-core")
    assert (session["stop_reason"], session["max_turns"]) == ("goal_reached", 4)
    assert "goal reached" in (daemon.work_dir / "lint-core.report.md").read_text()


@pytest.mark.parametrize("source", ["examples", "how-to"])
async def test_the_delegation_is_handed_out_to_three_roles(daemon: Daemon, source: str) -> None:
    page = blocks("docs/how-to/delegate.md", "json")[0].text
    given = read("delegation.json") if source == "examples" else json.loads(page)
    (daemon.work_dir / "web").mkdir(exist_ok=True)
    handed = call(daemon, "--field", "delegation", "delegate", json.dumps(given))
    identity = handed.stdout.strip()
    assert identity.startswith("d:"), handed.stderr
    reply = await daemon.must("wait", names=[identity], timeout_s=60)
    assert [session["role"] for session in reply["sessions"]] == ["scout", "reviewer", "worker"]
    assert [session["state"] for session in reply["sessions"]] == ["idle"] * 3
    if source == "how-to":
        _, waiting, going_on = blocks("docs/how-to/delegate.md", "json")
        waits = json.loads(waiting.text) | {"names": [identity]}
        assert call(daemon, "--field", "done", "wait", json.dumps(waits)).stdout == "true\n"
        name = next(s["name"] for s in reply["sessions"] if s["role"] == "scout")
        more = json.loads(going_on.text) | {"name": name}
        assert name in call(daemon, "continue", json.dumps(more)).stdout


@pytest.mark.parametrize("page", ["docs/how-to/delegate.md", "docs/reference/roles.md"])
def test_the_roles_that_are_shown_can_be_read(page: str, tmp_path: Path) -> None:
    for number, block in enumerate(blocks(page, "markdown")):
        (tmp_path / f"shown-{number}.md").write_text(block.text)
    assert "shown-0" in read_roles(tmp_path)


def test_a_call_that_cannot_be_made_says_so_in_one_line(daemon: Daemon, tmp_path: Path) -> None:
    no_json = tmp_path / "no.json"
    no_json.write_text("nothing")
    for arguments, code, says in (
        (("status", '{"name": "nobody"}'), 1, "nobody"),
        (("--url", "http://127.0.0.1:1", "status"), 1, "is the daemon running there?"),
        (("status", str(no_json)), 2, "no JSON object"),
    ):
        done = call(daemon, *arguments)
        assert (done.returncode, done.stdout) == (code, "")
        assert says in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr


def test_the_owner_of_a_named_agent_says_its_name(world: Daemon) -> None:
    world.settings["agent_name"] = "scout"
    world.start()
    assert "belongs to agent" in call(world, "status").stderr
    assert call(world, "--agent", "scout", "status").returncode == 0


@pytest.mark.parametrize("event", ["PostToolUse", "UserPromptSubmit"])
async def test_the_hook_shows_each_notice_once(daemon: Daemon, tmp_path: Path, event: str) -> None:
    folder = tmp_path / "notices"
    folder.mkdir()
    name = await daemon.begin(script(text("Done.")))
    await daemon.ended(name)
    notice = await daemon.notice(name)
    (folder / f"{notice['id']}.json").write_text(json.dumps(notice))
    (folder / "x.subagent_started.json").write_text('{"event": "subagent_started"}')

    def hook() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, EXAMPLES / "notices_hook.py", folder],
            input=json.dumps({"hook_event_name": event}),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )

    answer = json.loads(hook().stdout)["hookSpecificOutput"]
    assert answer["hookEventName"] == event
    assert f"[finished] {notice['text']}" in answer["additionalContext"]
    again = hook()
    assert (again.stdout, again.stderr) == ("", "")


async def test_a_notice_whose_command_fails_comes_again(world: Daemon, tmp_path: Path) -> None:
    """The command fails once; the notice is accepted the second time, and runs it twice."""
    socket, record, failed = (tmp_path / name for name in ("s", "record", "failed"))
    command = f"cat >>'{record}'; [ -e '{failed}' ] || {{ touch '{failed}'; exit 1; }}"
    listen = str(EXAMPLES / "listen.py")
    listens = [sys.executable, listen, str(socket), "sh", "-c", command]
    world.settings["todo_sinks"] = [f"unix:{socket}"]
    with subprocess.Popen(listens, stdout=subprocess.PIPE, text=True) as listener:
        try:
            assert listener.stdout is not None
            assert listener.stdout.readline() == f"listening at {socket}\n"
            world.start()
            name = await world.begin(script(text("Done.")))
            await world.ended(name)
            await processes.until(lambda: not world.owed(), "the notice to be accepted")
        finally:
            listener.terminate()
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["name"] for line in lines] == [name, name]


def test_the_units_are_correct_for_systemd(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here")
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for unit in UNITS:
        # where the programs of the examples would be after the installation
        given = re.sub(r"^(ExecStart=)/opt/\S+", rf"\1{program}", unit.read_text(), flags=re.M)
        (tmp_path / unit.name).write_text(given)
    done = subprocess.run(
        [analyze, "verify", *(str(tmp_path / unit.name) for unit in UNITS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "PATH": "/nowhere"},
    )
    # the one line that systemd before 254 does not know; docs/how-to/debian-service.md says so
    faults = [line for line in done.stderr.splitlines() if "DelegateSubgroup" not in line]
    assert faults == []


def test_the_unit_has_every_line_of_the_one_that_nixos_has() -> None:
    """What the module adds to the unit is in the example, or is left out for a reason."""

    def lines(file: Path) -> set[str]:
        return {line for line in file.read_text().splitlines() if "=" in line and line[0] != "#"}

    example = lines(EXAMPLES / "systemd" / "hive-subagent-daemon.service")
    rendered = lines(RENDERED / "hive-subagent-daemon.service")
    different = {
        line
        for line in rendered - example
        if not line.startswith(('Environment="', "ExecStart=/nix/store/", "Wants=", "After="))
    }
    # systemd's own defaults, which the module writes down for operators that change them
    assert different == {"PrivateTmp=false", "ProtectControlGroups=false", "ProtectHome=false"}


def test_the_configuration_of_the_unit_can_be_used() -> None:
    given = read("systemd/config.json")
    assert Settings(**given).max_running == given["max_running"]


def test_claude_code_gets_the_tools_by_the_bridge(world: Daemon) -> None:
    world.start()
    turn = script({"mcp": "subagent/status", "args": {}}, text("done"))
    options = ["-p", "--verbose", "--output-format=stream-json", "--allowedTools=mcp__subagent"]
    done = subprocess.run(
        [str(STUB), *options, "--mcp-config", str(EXAMPLES / "mcp.json")],
        input=turn,
        capture_output=True,
        text=True,
        check=True,
        cwd=world.work_dir,
        env={
            **world.base_environment,
            "PATH": f"{programs.ours('hive-subagent').parent}:{os.environ['PATH']}",
            "HIVE_SUBAGENT_SOCKET": str(world.runtime_dir / "operator.sock"),
            "CLAUDE_CONFIG_DIR": str(world.claude_dir),
        },
        timeout=60,
    )
    assert "No subagent" in done.stdout, done.stdout


def test_claude_code_gets_the_token_under_the_name_that_every_page_uses() -> None:
    """Issue 12, 9: the variable had three names."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*")]
    named = {
        name
        for page in pages
        if page.is_file()
        for name in re.findall(r"\b(?:HYPERHIVE_|HIVE_)?(?:SUBAGENT_)?TOKEN\b", page.read_text())
    }
    assert named - {"TOKEN"} == {"HYPERHIVE_SUBAGENT_TOKEN"}
    assert "Bearer ${HYPERHIVE_SUBAGENT_TOKEN}" in (EXAMPLES / "mcp-http.json").read_text()
