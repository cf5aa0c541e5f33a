"""The server of one subagent: two tools, one token per run, and nothing to aim with."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from support import rpc
from support.daemon import Daemon
from support.house import house
from support.stub import HANG, goal_reached, need_help, script, text

from hive_subagent.errors import Refused
from hive_subagent.sessions.order import REPORTS_LIMIT

LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()


def signal_urls(daemon: Daemon) -> dict[str, str]:
    """The address of each running subagent's signals, by the name of its file."""
    files = sorted((daemon.runtime_dir / "mcp").glob("*.json"))
    return {f.name: json.loads(f.read_text())["mcpServers"]["signal"]["url"] for f in files}


async def begin_with_url(daemon: Daemon, does: str = "") -> tuple[str, str]:
    """A running goal run and the address of its signals."""
    before = signal_urls(daemon)
    name = await daemon.begin(does or script(HANG), goal="be done")
    (new,) = (url for file, url in signal_urls(daemon).items() if file not in before)
    return name, new


def answer_of(url: str) -> tuple[int, dict[str, str], bytes]:
    reply = rpc.request(url, "POST", LIST, rpc.HEADERS)
    return reply.status, {k: v for k, v in reply.headers.items() if k != "date"}, reply.body


async def test_there_are_two_tools_and_none_has_a_field_to_name_a_subagent(
    daemon: Daemon,
) -> None:
    """R28: who speaks is told by the address, never by an argument."""
    name, url = await begin_with_url(daemon)
    async with Client(url) as client:
        tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    assert {tool: set(schema["properties"]) for tool, schema in tools.items()} == {
        "goal_reached": {"summary", "report_file"},
        "need_help": {"message", "report_file"},
    }
    assert tools["goal_reached"].get("required", []) == []
    assert tools["need_help"]["required"] == ["message"]
    await daemon.must("interrupt", name=name)


async def test_a_signal_counts_for_the_run_of_its_token_alone(daemon: Daemon) -> None:
    """R28."""
    gate = daemon.gate()
    waits = script({"wait_file": str(gate)}, text("x"))
    one, url = await begin_with_url(daemon, waits)
    two, other = await begin_with_url(daemon, waits)
    assert url != other
    answer = rpc.call(url, "goal_reached", {"summary": "mine", "name": two})
    assert not answer.is_error
    assert answer.text.startswith("Noted.")
    assert not rpc.call(other, "need_help", {"message": "yours"}).is_error
    gate.touch()
    assert (await daemon.ended(one))["message"] == "mine"
    assert (await daemon.ended(two))["message"] == "yours"


async def test_unknown_revoked_and_misplaced_tokens_get_the_same_404(daemon: Daemon) -> None:
    name, url = await begin_with_url(daemon)
    status, _, _ = answer_of(url)
    assert status == 200
    await daemon.must("interrupt", name=name)

    revoked = answer_of(url)

    assert revoked[0] == 404
    token = url.removesuffix("/mcp").rpartition("/")[2]
    assert token.encode() not in revoked[2]
    for path in (
        "/signal/unknown/mcp",
        f"/signal/{token[:-1]}/mcp",
        "/signal/%00/mcp",
        "/no/where",
    ):
        assert answer_of(daemon.url + path) == revoked, path
    for method in ("GET", "DELETE", "PUT"):
        replies = [
            rpc.request(daemon.url + path, method).status for path in ("/signal/x/mcp", "/no")
        ]
        assert replies == [404, 404]


async def test_a_token_is_of_one_run_and_its_file_is_private_and_goes_with_it(
    daemon: Daemon,
) -> None:
    name, first = await begin_with_url(daemon)
    (file,) = (daemon.runtime_dir / "mcp").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    argv = " ".join(daemon.children().values())
    assert f"--mcp-config={file}" in argv
    assert first.split("/")[-2] not in argv

    await daemon.must("interrupt", name=name)
    assert list((daemon.runtime_dir / "mcp").iterdir()) == []
    await daemon.must("continue", name=name, prompt=script(HANG))
    (second,) = signal_urls(daemon).values()
    assert second != first
    assert len(second.split("/")[-2]) >= 43, "256 bits"
    await daemon.must("interrupt", name=name)


async def test_without_a_goal_there_is_neither_token_nor_file(daemon: Daemon) -> None:
    session = await daemon.run(script({"echo_argv": True}))
    argv = json.loads(session["result"])
    assert not [arg for arg in argv if arg.startswith("--mcp-config")]
    assert "--strict-mcp-config" in argv


async def test_with_a_goal_the_signals_are_approved_and_loaded_at_once(daemon: Daemon) -> None:
    """Tools without alwaysLoad hide behind tool search since about 2.1.330."""
    session = await daemon.run(script({"echo_argv": True}), goal="be done", max_turns=1)
    assert "--allowedTools=mcp__signal" in json.loads(session["result"])
    session = await daemon.run(script({"echo_config": True}), goal="be done", max_turns=1)
    (entry,) = json.loads(session["result"])["mcpServers"].items()
    assert (entry[0], entry[1]["type"], entry[1]["alwaysLoad"]) == ("signal", "http", True)


async def test_a_run_that_is_never_spawned_leaves_no_token(tmp_path: Path) -> None:
    program = tmp_path / "claude-of-another-machine"
    program.write_bytes(b"\x7fELF\x02")
    program.chmod(0o755)
    async with house(tmp_path, claude_bin=str(program)) as home:
        granted: list[str] = []
        grant = home.executor.access.grant

        def noted(run_id: str, **given: Any) -> Any:
            granted.append(given["token"])
            return grant(run_id, **given)

        home.executor.access.grant = noted  # type: ignore[method-assign]
        with pytest.raises(Refused):
            await home.begin(script(text("x")), goal="be done")
        (token,) = granted
        assert home.executor.registry.resolve(token) is None
        assert list((home.root / "run" / "mcp").iterdir()) == []


async def test_a_blank_question_is_refused_and_not_noted(daemon: Daemon) -> None:
    session = await daemon.run(script(need_help(" \n"), text("x")), goal="g", max_turns=1)
    assert session["stop_reason"] == "turn_cap"


async def test_no_token_is_in_the_log_or_in_what_a_model_reads(daemon: Daemon) -> None:
    name, url = await begin_with_url(daemon)
    token = url.split("/")[-2]
    rpc.call(url, "need_help", {"message": "x"})
    rpc.request(f"{url}/x", "PATCH")
    answer = await daemon.call("status", name=name)
    ended = await daemon.call("interrupt", name=name)
    answer_of(url)
    for told in (answer.text, json.dumps(answer.data), ended.text, json.dumps(ended.data)):
        assert token not in told
    assert token not in daemon.log
    assert token not in json.dumps(await daemon.notice(name))


async def test_a_subagent_that_cannot_write_gets_nothing_written_where_it_likes(
    world: Daemon,
) -> None:
    """R29: else its last answer would become a line of any file of its user's."""
    world.settings = {"tools": ["Read"], "setting_sources": ""}
    world.start()
    profile = world.root / "home" / ".profile"
    profile.write_text("# mine\n")
    report = world.root / "report.md"
    does = script(goal_reached("done", report_file=str(profile)), text("rm -rf /"))
    name = await world.begin(does, goal="g", report_file=str(report))
    notice = await world.notice(name)
    assert profile.read_text() == "# mine\n"
    assert "rm -rf /" in report.read_text(), "the owner's own choice is another matter"
    assert notice["report_file"] == str(report)
    assert f"named as its report file: {profile}. Nothing was added there" in notice["text"]


async def test_a_report_file_of_a_subagent_that_can_write_is_added_to(daemon: Daemon) -> None:
    report = daemon.work_dir / "own-report.md"
    report.write_text("what I did\n")
    name = await daemon.begin(script(goal_reached("done", report_file=str(report))), goal="g")
    notice = await daemon.notice(name)
    assert report.read_text().startswith("what I did\n")
    assert "reports its goal reached" in report.read_text()
    assert notice["report_file"] == str(report)


async def test_a_report_file_outside_of_the_sessions_directory_is_not_written(
    daemon: Daemon,
) -> None:
    """Issue 10, 13: a sandbox of claude's would keep the subagent from it, and not the daemon."""
    profile = daemon.root / "profile"
    profile.write_text("# mine\n")
    (daemon.work_dir / "linked").symlink_to(daemon.root)
    does = script(
        goal_reached("done", report_file=str(profile)),
        goal_reached("done", report_file="linked/profile"),
        text("rm -rf /"),
    )
    name = await daemon.begin(does, goal="g")
    notice = await daemon.notice(name)
    assert profile.read_text() == "# mine\n"
    assert f"report file {profile} was not written: it does not lie in" in notice["text"]
    assert "linked in its path is a symbolic link" in notice["text"]


async def test_a_report_file_is_not_written_where_a_rule_on_writing_exists(world: Daemon) -> None:
    """Issue 10, 13: the daemon does not write what a rule of claude's may be about."""
    world.start()
    settings = world.work_dir / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {"deny": ["Edit(notes/**)"]}}))
    report = world.work_dir / "report.md"
    name = await world.begin(script(goal_reached("done", report_file="report.md")), goal="g")
    notice = await world.notice(name)
    assert not report.exists()
    assert "Nothing was added there" in notice["text"]


async def test_a_subagent_can_name_so_many_report_files_and_no_more(daemon: Daemon) -> None:
    """Nothing grows by what it says again."""
    name, url = await begin_with_url(daemon)
    for number in (*range(40), *range(40)):
        rpc.call(url, "goal_reached", {"report_file": f"r{number}.md"})
    rpc.call(url, "goal_reached", {"report_file": "x" * 50_000})
    await daemon.must("interrupt", name=name)
    written = {file.name for file in daemon.work_dir.glob("r*.md")}
    assert written == {f"r{number}.md" for number in range(REPORTS_LIMIT)}
