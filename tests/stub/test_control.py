"""The control channel and many turns in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from stub.process import BOTH_WAYS, STREAM, Home, Json, directive, eventually

VERSIONS = ["2.1.197", "2.1.332"]


def texts(lines: list[Json]) -> list[str]:
    return [
        block["text"]
        for line in lines
        if line["type"] == "assistant"
        for block in line["message"]["content"]
        if block["type"] == "text"
    ]


def test_nothing_is_printed_before_the_first_message(home: Home) -> None:
    claude = home.start(*BOTH_WAYS, "--name=alpha")
    claude.control("r1", "mcp_status")
    first = claude.next()
    assert first is not None
    assert first["type"] == "control_response"


def test_one_process_takes_many_turns_each_with_init_and_result(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    for number in range(3):
        claude.user(f"turn {number}")
        assert claude.result()["result"] == f"ok: turn {number}"
        assert claude.seen[-1]["result_index"] == number
    claude.close_stdin()
    assert claude.rc() == 0
    assert [line.get("subtype") for line in claude.seen].count("init") == 3


def test_turns_follow_the_script_and_repeat_the_last_one(home: Home) -> None:
    script = '[[STUB {"turns": [[{"text": "a"}], [{"text": "b"}]]}]]'
    (home.root / "brief").write_text(script)
    claude = home.start(*BOTH_WAYS, f"--append-system-prompt-file={home.root}/brief")
    got = []
    for _ in range(3):
        claude.user("go on")
        got.append(claude.result()["result"])
    assert got == ["a", "b", "b"]


def test_the_script_of_the_prompt_wins_over_the_briefs_and_the_files(home: Home) -> None:
    (home.root / "brief").write_text(directive({"text": "brief"}))
    (home.root / "file").write_text('{"steps": [{"text": "file"}]}')
    environment = {"HIVE_SUBAGENT_STUB_SCRIPT": str(home.root / "file")}
    brief = f"--append-system-prompt-file={home.root}/brief"
    assert home.say("x", *STREAM, **environment).result()["result"] == "file"
    assert home.say("x", *STREAM, brief, **environment).result()["result"] == "brief"
    prompt = directive({"text": "prompt"})
    assert home.say(prompt, *STREAM, brief, **environment).result()["result"] == "prompt"


def test_the_end_of_stdin_lets_the_running_turn_finish(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user(directive({"wait_file": str(home.root / "go")}, {"text": "done"}))
    claude.until_type("system", "init")
    claude.close_stdin()
    (home.root / "go").touch()
    assert claude.result()["result"] == "done"
    assert claude.rc() == 0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"hang": True}, "aborted_streaming"),
        ({"lines": 100000, "interval": 0.02}, "aborted_streaming"),
        ({"bash": "perl -e 'sleep 300'"}, "aborted_tools"),
        ({"tool": "Read", "gate": "/no/such"}, "aborted_tools"),
    ],
)
def test_an_interrupt_ends_the_turn_and_the_process_lives(
    home: Home, version: str, step: Json, reason: str
) -> None:
    claude = home.start(*BOTH_WAYS, version=version)
    begun: list[Json] = [] if reason == "aborted_tools" else [{"text": "begun"}]
    claude.user(directive(*begun, step))
    claude.until_type("assistant")
    claude.control("r1", "interrupt")
    ack = claude.until_type("control_response")["response"]
    assert (ack["subtype"], ack["request_id"]) == ("success", "r1")
    assert ("response" in ack) == (version == "2.1.332")
    result = claude.result()
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    assert result["terminal_reason"] == reason
    assert "result" not in result
    claude.user("next")
    assert claude.result()["result"] == "ok: next"
    claude.close_stdin()
    assert claude.rc() == 0


def test_the_exit_code_follows_the_last_result(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user(directive({"text": "begun"}, {"hang": True}))
    claude.until_type("assistant")
    claude.control("r1", "interrupt")
    claude.result()
    claude.close_stdin()
    assert claude.rc() == 1


def test_an_interrupt_kills_the_tool_but_not_what_left_its_group(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    files = [home.root / name for name in ("shell", "loose")]
    claude.user(
        directive(
            {"bash": f"setsid sh -c 'echo $$ > {files[1]}; sleep 300' & echo $$ > {files[0]}; wait"}
        )
    )
    claude.until_type("assistant")
    pids = [_pid(file) for file in files]
    claude.control("r1", "interrupt")
    claude.result()
    assert not Path(f"/proc/{pids[0]}").exists() or _is_zombie(pids[0])
    assert Path(f"/proc/{pids[1]}").exists()


def test_an_interrupt_while_idle_is_only_acknowledged(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user("one")
    claude.result()
    claude.control("r1", "interrupt")
    claude.until_type("control_response")
    claude.user("two")
    assert claude.result()["result"] == "ok: two"


@pytest.mark.parametrize(
    ("version", "turn", "obeyed"),
    [("2.1.197", 1, True), ("2.1.197", 2, True), ("2.1.332", 1, True), ("2.1.332", 2, False)],
)
def test_an_interrupt_in_one_breath_with_its_message_is_lost_by_332_after_the_first_turn(
    home: Home, version: str, turn: int, obeyed: bool
) -> None:
    claude = home.start(*BOTH_WAYS, version=version)
    for _ in range(turn - 1):
        claude.user("earlier")
        claude.result()
    claude.write(
        b'{"type":"user","message":{"role":"user","content":"slow"}}\n'
        b'{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}\n'
    )
    assert claude.result()["is_error"] == obeyed


def test_messages_within_a_turn_are_taken_by_their_priority(home: Home) -> None:
    gate = home.root / "gate"
    tool = {"tool": "Read", "gate": str(gate)}
    claude = home.start(*BOTH_WAYS)
    claude.user(directive(tool, {"echo_seen": True}))
    claude.until_type("assistant")
    claude.user("AT ONCE NEXT STEP")
    claude.user("AFTERWARDS", priority="later")
    claude.control("sync", "mcp_status")
    claude.until_type("control_response")
    gate.touch()
    first = claude.result()
    assert "AT ONCE NEXT STEP" in first["result"]
    assert "AFTERWARDS" not in first["result"]
    assert claude.result()["result"] == "ok: AFTERWARDS"


def test_a_steering_message_can_bring_a_script_of_its_own(home: Home) -> None:
    gate = home.root / "gate"
    claude = home.start(*BOTH_WAYS)
    claude.user(directive({"tool": "Read", "gate": str(gate)}, {"text": "old plan"}))
    claude.until_type("assistant")
    claude.user(directive({"text": "new plan"}))
    claude.control("sync", "mcp_status")
    claude.until_type("control_response")
    gate.touch()
    assert claude.result()["result"] == "new plan"


def test_a_message_during_the_last_answer_opens_a_turn_of_its_own(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user(directive({"text": "a"}, {"wait_file": str(home.root / "go")}, {"text": "b"}))
    claude.until_type("assistant")
    claude.user("late")
    claude.control("sync", "mcp_status")
    claude.until_type("control_response")
    (home.root / "go").touch()
    assert claude.result()["result"] == "b"
    assert claude.result()["result"] == "ok: late"


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_are_answered_as_measured(home: Home, version: str) -> None:
    claude = home.start(*BOTH_WAYS, version=version)
    claude.control("i", "initialize", hooks={})
    claude.user("x")
    claude.result()
    requests: list[tuple[str, Json]] = [
        ("set_model", {"model": "sonnet"}),
        ("set_permission_mode", {"mode": "plan"}),
        ("mcp_status", {}),
        ("get_session_cost", {}),
        ("rename_session", {"title": "renamed"}),
        ("get_settings", {}),
        ("background_tasks", {}),
        ("apply_flag_settings", {"settings": {}}),
    ]
    for number, (subtype, body) in enumerate(requests):
        claude.control(f"c{number}", subtype, **body)
        answer = claude.until_type("control_response")["response"]
        assert (answer["subtype"], answer["request_id"]) == ("success", f"c{number}")
    claude.control("bad", "nonsense")
    answer = claude.until_type("control_response")["response"]
    assert answer["error"] == "Unsupported control request subtype: nonsense"
    assert ("error_code" in answer) == (version == "2.1.332")
    claude.user("y")
    init = claude.until_type("system", "init")
    assert init["model"] == ("claude-sonnet-5" if version == "2.1.197" else "claude-sonnet-5-5")
    assert init["permissionMode"] == "plan"
    claude.close_stdin()
    claude.rc()
    assert home.say("x", *STREAM, "--resume=renamed", version=version).rc() == 0


def test_lifecycle_lines_belong_to_332_and_to_messages_with_a_uuid(home: Home) -> None:
    for version, expected in (("2.1.332", ["queued", "started", "completed"]), ("2.1.197", [])):
        claude = home.start(*BOTH_WAYS, version=version)
        claude.user("plain")
        claude.result()
        claude.user("x", uuid="11111111-0000-4000-8000-000000000001")
        claude.close_stdin()
        states = [line["state"] for line in claude.rest() if line["type"] == "command_lifecycle"]
        assert states == expected


def _pid(file: Path) -> int:
    eventually(lambda: file.exists() and file.read_text().strip() != "")
    return int(file.read_text())


def _is_zombie(pid: int) -> bool:
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()
