"""Words of subagents where people read them: they forge no line and act on no terminal."""

from __future__ import annotations

import json
import re

from support import rpc
from support.daemon import Daemon
from support.stub import HANG, bash, script, text

from security.rude import signal_urls

FORGED = "\x1b]0;owned\x07\x1b[2J\rx\x9b31m\nINFO hive_subagent: all is well"
LINE = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL) [a-z_.]+: |    ")
ACTING = set("\x00\x07\x1b\x7f\r\x9b")


def assert_log_is_ours(daemon: Daemon) -> None:
    for line in daemon.log.split("\n")[:-1]:
        assert LINE.match(line), line
        assert not line.startswith("INFO hive_subagent: all is well")
        assert line.isprintable(), line


def assert_harmless(*texts: str) -> None:
    for words in texts:
        assert not set(words) & ACTING, repr(words)


async def test_the_command_of_a_process_forges_nothing(guarded: Daemon) -> None:
    named = "exec -a $'\\e[2J\\nINFO forged' bash"
    name = await guarded.begin(script(bash(f"{named} -c 'sleep 1000; :'")))
    await guarded.in_tool(name)
    answer = await guarded.call("interrupt", name=name)
    commands = [process["command"] for process in answer.data["processes"]]
    assert any(command.startswith("\\x1b[2J\\nINFO forged -c") for command in commands), commands
    assert all(command.isprintable() for command in commands)
    (told,) = [line for line in guarded.log.split("\n") if f"`{name}` ended" in line]
    for process in answer.data["processes"]:
        assert f"{process['pid']} ({process['command']})" in told, "the receipt is in the log too"
    assert_harmless(answer.text)
    assert_log_is_ours(guarded)


async def test_a_last_answer_is_kept_as_it_is_and_shown_as_escapes(guarded: Daemon) -> None:
    report = guarded.gate()
    name = await guarded.begin(script(text(FORGED)), report_file=str(report))
    session = await guarded.ended(name)
    status = await guarded.call("status", name=name)
    notice = await guarded.notice(name)
    output = guarded.runtime_dir / "channels" / name / "output.txt"
    assert session["result"] == FORGED, "data: JSON carries it, and does its own escaping"
    for words in (status.text, notice["text"], report.read_bytes().decode()):
        assert "\\x1b[2J" in words
        assert_harmless(words)
    lines = output.read_bytes().decode().split("\n")
    assert_harmless(*lines)
    assert not [line for line in lines if line.startswith("INFO")]
    raw = guarded.state_dir / "todos" / f"{notice['id']}.json"
    assert raw.read_bytes().rstrip(b"\n").decode().isprintable()
    assert_log_is_ours(guarded)


async def test_last_lines_on_stderr_forge_nothing(guarded: Daemon) -> None:
    name = await guarded.begin(script(text("x"), {"stderr": FORGED}, {"exit": 3}))
    session = await guarded.ended(name)
    assert session["state"] == "failed"
    assert "all is well" in session["message"]
    assert_harmless((await guarded.call("status")).text, (await guarded.notice(name))["text"])
    died = script({"stderr": FORGED}, {"exit": 3})
    refused = await guarded.call(
        "start",
        name=guarded.name(),
        prompt_file=guarded.brief(died.replace('"steps"', '"before_init"')),
    )
    assert refused.is_error
    assert_harmless(refused.text)
    assert_log_is_ours(guarded)


async def test_a_question_forges_nothing(guarded: Daemon) -> None:
    name = await guarded.begin(script(HANG), goal="be done " + FORGED)
    (url,) = signal_urls(guarded)
    rpc.call(url, "need_help", {"message": FORGED, "report_file": FORGED})
    answer = await guarded.call("interrupt", name=name)
    notice = await guarded.notice(name)
    assert FORGED in (await guarded.must("status", name=name))["message"]
    assert_harmless(answer.text, notice["text"])
    assert_log_is_ours(guarded)


async def test_half_a_surrogate_pair_in_claudes_text_loses_no_notice(guarded: Daemon) -> None:
    """A model can print one; JSON carries it, UTF-8 does not."""
    part = '{"type":"tool_use","id":"t","name":"\\ud800"}'
    half = '{"type":"assistant","message":{"content":[' + part + "]}}"
    gate = guarded.gate()
    name = await guarded.begin(
        script({"raw": half + "\n"}, {"wait_file": str(gate)}, text("a\ud800b"))
    )
    assert (await guarded.in_tool(name))["open_tool"]["name"] == "\\ud800"
    gate.touch()
    session = await guarded.ended(name)
    assert session["result"] == "a\ufffdb"
    assert "a\ufffdb" in (await guarded.notice(name))["text"]
    assert_log_is_ours(guarded)


async def test_absurd_lines_of_claude_end_as_what_they_are(guarded: Daemon) -> None:
    """R3: numbers beyond all numbers, depth without end, keys twice."""
    gate = guarded.gate()
    retry = '{"type":"system","subtype":"api_retry","retry_delay_ms":1e999,"attempt":'
    absurd = [
        retry + "9" * 400 + "}",
        '{"type":"assistant","message":' + "[" * 200_000 + "]" * 200_000 + "}",
        '{"type":"system","session_id":"../../elsewhere","cwd":7}',
        '{"type":"assistant","type":"result","message":{"content":{}}}',
        '{"type":"result","is_error":null,"result":{"a":1},"total_cost_usd":1e999}',
    ]
    raw = {"raw": "\n".join(absurd) + "\n"}
    name = await guarded.begin(script(raw, {"wait_file": str(gate)}, text("done")))
    await guarded.must("status", name=name)
    gate.touch()
    session = await guarded.ended(name)
    assert session["cost_usd"] is None or session["cost_usd"] < 1
    assert json.dumps(session, allow_nan=False)
    assert (await guarded.notice(name))["kind"] in ("finished", "failed")
    assert not (guarded.root / "elsewhere").exists()
    assert_log_is_ours(guarded)
