"""Every fault of the list in docs/contributing/stub.md shows on the wire what the list says."""

from __future__ import annotations

import base64
import json
import os
import signal
from pathlib import Path

import pytest

from stub.process import BOTH_WAYS, STREAM, Home, Json, directive


def test_it_dies_by_the_named_signal_after_what_it_printed(home: Home) -> None:
    for name in ("SIGKILL", "SIGSEGV", "SIGTERM", "SIGABRT"):
        claude = home.say(directive({"text": "last words"}, {"die": name}))
        assert claude.rest()[-1]["message"]["content"][0]["text"] == "last words"
        assert claude.rc() == -getattr(signal, name)


def test_it_exits_without_a_result(home: Home) -> None:
    claude = home.say(directive({"text": "a"}, {"exit": 7}))
    assert claude.rest()[-1]["type"] == "assistant"
    assert claude.rc() == 7


def test_a_truncated_line_ends_a_good_exit(home: Home) -> None:
    """R4"""
    claude = home.say(directive({"truncate": 65536}))
    data = claude.rest_raw()
    assert len(data.split(b"\n")[-1]) == 65536
    assert claude.rc() == 0


def test_raw_bytes_go_out_as_they_are(home: Home) -> None:
    """R3"""
    bad = b"\xff\xfe plain\n{half\n"
    claude = home.say(
        directive({"raw": "plain text\n"}, {"raw_b64": base64.b64encode(bad).decode()})
    )
    assert b"plain text\n" + bad in claude.rest_raw()


def test_stderr_can_be_flooded(home: Home) -> None:
    """R5"""
    claude = home.say(directive({"stderr": "0123456789\n", "repeat": 50000}))
    claude.result()
    assert len(claude.stderr) == 550000


def test_a_line_can_be_of_any_size(home: Home) -> None:
    """R1"""
    claude = home.say(directive({"big_text": 3_000_000}))
    assert len(claude.result()["result"]) == 3_000_000


def test_steps_repeat(home: Home) -> None:
    claude = home.say(directive({"repeat": 3, "steps": [{"text": "a"}, {"text": "b"}]}))
    claude.result()
    assert len([line for line in claude.seen if line["type"] == "assistant"]) == 6


@pytest.mark.parametrize("step", [{"dance": 1}, {}])
def test_an_unknown_step_is_loud(home: Home, step: Json) -> None:
    claude = home.say(directive(step))
    assert claude.rc() == 64
    assert claude.stderr == f"stub: unknown step {json.dumps(step)}\n"


@pytest.mark.parametrize(
    "prompt", ["[[STUB {broken]]", '[[STUB {"steps": []} and no end', '[[STUB {"steps": 3}]]']
)
def test_a_script_that_cannot_be_read_is_loud(home: Home, prompt: str) -> None:
    claude = home.say(prompt)
    assert claude.rc() == 64
    assert claude.stderr.startswith("stub: script in the prompt: ")
    assert claude.stderr.count("\n") == 1


def test_a_missing_script_file_is_loud(home: Home) -> None:
    claude = home.say("x", *STREAM, HIVE_SUBAGENT_STUB_SCRIPT="/no/such")
    assert claude.rc() == 64
    assert "/no/such" in claude.stderr


def test_what_it_spawns_survives_it_and_is_nobodys_child(home: Home) -> None:
    """R10"""
    file = home.root / "pid"
    step = {"spawn": "perl -e 'sleep 300'; true", "setsid": True, "pid_file": str(file)}
    claude = home.say(directive(step))
    session = claude.result()["session_id"]
    assert claude.rc() == 0
    pid = int(file.read_text())
    status = Path(f"/proc/{pid}/status").read_text()
    assert f"PPid:\t{claude.pid}\n" not in status
    assert os.getsid(pid) != os.getsid(0)
    assert session.encode() in Path(f"/proc/{pid}/environ").read_bytes()


def test_a_spawned_process_can_wipe_its_marks_and_ignore_sigterm(home: Home) -> None:
    file = home.root / "pid"
    step = {
        "spawn": "perl -e 'sleep 300'; true",
        "env": "wipe",
        "ignore_term": True,
        "pid_file": str(file),
    }
    claude = home.say(directive(step))
    claude.result()
    pid = int(file.read_text())
    try:
        assert b"CLAUDE" not in Path(f"/proc/{pid}/environ").read_bytes()
        os.kill(pid, signal.SIGTERM)
        assert Path(f"/proc/{pid}").exists()
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_spawned_process_can_hold_stdout_open(home: Home) -> None:
    release = home.root / "release"
    command = f"while [ ! -e {release} ]; do perl -e 'select undef,undef,undef,0.01'; done"
    claude = home.say(directive({"spawn": command, "hold_stdout": True}))
    claude.result()
    assert claude.rc() == 0  # it is gone, its stdout is not
    release.touch()
    assert claude.next() is None


def test_it_can_eat_memory(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user(directive({"eat_memory": 64 << 20}, {"text": "full"}))
    claude.result()
    status = Path(f"/proc/{claude.pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    assert int(resident.split()[1]) > 64 * 1024


def test_it_can_stay_after_its_result(home: Home) -> None:
    """R6"""
    claude = home.say(directive({"linger": True}, {"text": "done"}))
    assert claude.result()["result"] == "done"
    assert claude.process.poll() is None
    claude.signal(signal.SIGTERM)
    assert claude.rc() == 143
    short = home.say(directive({"linger": 0.05}, {"text": "done"}))
    assert short.rc() == 0


def test_it_can_close_stdout_and_go_on(home: Home) -> None:
    """R2"""
    done = home.root / "done"
    claude = home.say(directive({"text": "a"}, {"close_stdout": True}, {"touch": str(done)}))
    assert [line["type"] for line in claude.rest()] == ["system", "assistant"]
    assert claude.rc() == 0
    assert done.exists()


def test_it_can_ignore_the_interrupt(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    go = home.root / "go"
    claude.user(directive({"ignore_interrupt": True}, {"text": "a"}, {"wait_file": str(go)}))
    claude.until_type("assistant")
    claude.control("r1", "interrupt")
    claude.control("sync", "mcp_status")
    claude.until_type("control_response")
    go.touch()
    assert claude.result()["subtype"] == "success"
    answers = [line for line in claude.seen if line["type"] == "control_response"]
    assert [answer["response"]["request_id"] for answer in answers] == ["sync"]


def test_a_result_can_say_anything(home: Home) -> None:
    claude = home.say(
        directive({"result": {"result": "odd", "extra": 1}, "without": ["terminal_reason"]})
    )
    result = claude.result()
    assert (result["result"], result["extra"]) == ("odd", 1)
    assert "terminal_reason" not in result


@pytest.mark.parametrize(
    ("version", "reason"), [("2.1.197", "completed"), ("2.1.332", "api_error")]
)
@pytest.mark.parametrize("status", [401, 403, 404, 413, 429, 500, 529, None])
def test_an_api_error_is_a_success_that_is_an_error(
    home: Home, version: str, reason: str, status: int | None
) -> None:
    claude = home.say(directive({"api_error": status}), version=version)
    result = claude.result()
    assert (result["subtype"], result["is_error"]) == ("success", True)
    assert (result["api_error_status"], result["terminal_reason"]) == (status, reason)
    assert result["result"]
    assert claude.rc() == 1


def test_retries_are_told_and_the_turn_recovers(home: Home) -> None:
    """R32"""
    claude = home.say(directive({"api_retry": 3, "status": 429}, {"text": "recovered"}))
    assert claude.result()["result"] == "recovered"
    retries = [line for line in claude.seen if line.get("subtype") == "api_retry"]
    assert [line["attempt"] for line in retries] == [1, 2, 3]
    assert {line["error"] for line in retries} == {"rate_limit"}
    assert claude.rc() == 0


def test_the_turn_cap_of_the_cli_ends_a_turn(home: Home) -> None:
    claude = home.say(
        directive({"bash": "true"}, {"bash": "true"}, {"text": "never"}), *STREAM, "--max-turns=2"
    )
    result = claude.result()
    assert (result["subtype"], result["terminal_reason"]) == ("error_max_turns", "max_turns")
    assert result["num_turns"] == 3
    assert claude.rc() == 1


def test_it_can_misbehave_before_it_reads_anything(home: Home) -> None:
    (home.root / "script").write_text('{"at_start": [{"stderr": "cannot\\n"}, {"exit": 3}]}')
    claude = home.start(*BOTH_WAYS, HIVE_SUBAGENT_STUB_SCRIPT=str(home.root / "script"))
    assert claude.rc() == 3
    assert claude.stderr == "cannot\n"


def test_what_it_was_given_can_be_asked_for(home: Home) -> None:
    config = '{"mcpServers": {}}'
    arguments = [*STREAM, "--strict-mcp-config", f"--mcp-config={config}"]
    shown = [
        home.say(directive({step: True}), *arguments, MARK="1").result()["result"]
        for step in ("echo_env", "echo_argv", "echo_config")
    ]
    assert json.loads(shown[0])["MARK"] == "1"
    assert json.loads(shown[1])[1:] == arguments
    assert json.loads(shown[2]) == json.loads(config)
