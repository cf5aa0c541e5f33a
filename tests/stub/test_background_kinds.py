"""Background work of every kind, as each version prints it; and prompts that reach no model."""

from __future__ import annotations

import json
import signal

import pytest

from stub.process import BOTH_WAYS, Claude, Home, Json, directive

BOTH = pytest.mark.parametrize("version", ["2.1.332", "2.1.197"])
LONG = {"bash": "perl -e 'sleep 300'; true", "background": True, "description": "long"}


def spoken_to(home: Home, *arguments: str, version: str | None = None) -> Claude:
    return home.start(*BOTH_WAYS, "--replay-user-messages", *arguments, version=version)


def lists(claude: Claude) -> list[list[str]]:
    """The descriptions in each list of open tasks."""
    found = [e for e in claude.seen if e.get("subtype") == "background_tasks_changed"]
    return [[task["description"] for task in line["tasks"]] for line in found]


def test_an_agent_is_in_the_background_by_default_since_332(home: Home) -> None:
    gate = home.root / "gate"
    step = {"subagent": [{"text": "inner"}], "description": "look", "gate": str(gate)}
    claude = spoken_to(home)
    claude.user(directive(step, {"text": "launched"}, after_background=[{"text": "found"}]))
    assert claude.result()["result"] == "launched"
    assert lists(claude) == [["look"]]
    gate.touch()
    second = claude.result()
    assert (second["result"], second["result_index"]) == ("found", 1)
    assert second["origin"]["runId"]
    assert lists(claude) == [["look"], []]
    inner = [e for e in claude.seen if e.get("parent_tool_use_id") and e["type"] == "assistant"]
    assert inner[0]["message"]["content"][0]["text"] == "inner"
    claude.close_stdin()
    assert claude.rc() == 0


def test_it_is_in_the_foreground_where_the_script_or_197_says_so(home: Home) -> None:
    step: Json = {"subagent": [{"text": "inner"}]}
    for version, more in (("2.1.197", {}), ("2.1.332", {"background": False})):
        claude = home.say(directive({**step, **more}, {"text": "end"}), version=version)
        assert claude.result()["result"] == "end"
        claude.rest()
        assert claude.rc() == 0


def test_each_line_of_a_watch_opens_a_turn_and_so_does_its_end(home: Home) -> None:
    claude = spoken_to(home)
    after = [[{"text": "saw it"}], [{"text": "over"}]]
    step = {"monitor": "echo one; read -t 0.5 x <> <(:)", "description": "watch"}
    claude.user(directive(step, {"text": "watching"}, after_background=after))
    results = [claude.result() for _ in range(3)]
    assert [result["result"] for result in results] == ["watching", "saw it", "over"]
    assert ["runId" in result.get("origin", {}) for result in results] == [False, False, True]


def test_197_has_no_watch(home: Home) -> None:
    claude = home.say(directive({"monitor": "true"}, {"text": "end"}), version="2.1.197")
    claude.result()
    block = next(e for e in claude.seen if e["type"] == "user")["message"]["content"][0]
    assert "not enabled in this context" in block["content"]


@BOTH
def test_a_task_that_ends_within_the_turn_is_told_there(home: Home, version: str) -> None:
    claude = spoken_to(home, version=version)
    done = home.root / "done"
    first = {"bash": f"touch {done}", "background": True}
    wait = {"bash": f"until [ -e {done} ]; do :; done; perl -e 'select undef,undef,undef,0.3'"}
    claude.user(directive(first, wait, {"echo_seen": True}))
    assert "<task-notification>" in claude.result()["result"]
    echoed = [e for e in claude.seen if e.get("isReplay")]
    assert ["<task-id>" in str(e["message"]["content"]) for e in echoed] == [False, True]
    claude.close_stdin()
    assert [e for e in claude.rest() if e["type"] == "result"] == []


@BOTH
def test_a_task_that_the_model_ends_opens_no_turn(home: Home, version: str) -> None:
    claude = spoken_to(home, version=version)
    claude.user(directive(LONG, {"stop_task": True}, {"text": "end"}))
    assert claude.result()["result"] == "end"
    claude.close_stdin()
    assert [e for e in claude.rest() if e["type"] == "result"] == []
    assert claude.rc() == 0


@BOTH
def test_stop_hooks_are_told_what_is_open(home: Home, version: str) -> None:
    claude = spoken_to(home, version=version)
    hooks = {"Stop": [{"matcher": None, "hookCallbackIds": ["x"]}]}
    claude.control("init", "initialize", hooks=hooks)
    claude.user(directive(LONG, {"text": "end"}))
    asked = claude.until_type("control_request")
    (task,) = asked["request"]["input"]["background_tasks"]
    assert (task["type"], task["status"], task["description"]) == ("shell", "running", "long")


@pytest.mark.parametrize("gone", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_session_whose_task_was_cut_begins_with_an_empty_result(
    home: Home, gone: signal.Signals
) -> None:
    """Measured with SIGINT: 2.1.332 says so before it reads what it is sent."""
    claude = spoken_to(home)
    claude.user(directive(LONG, {"text": "end"}))
    session = claude.result()["session_id"]
    claude.process.send_signal(gone)
    claude.rc()
    again = spoken_to(home, f"--resume={session}")
    again.user(directive({"text": "back"}))
    first = again.result()
    assert (first["num_turns"], first["origin"]) == (0, {"kind": "task-notification"})
    assert again.result()["result"] == "back"


def test_an_interrupt_between_two_turns_ends_the_agents_alone(home: Home) -> None:
    claude = spoken_to(home)
    agent = {"subagent": [], "description": "look", "gate": str(home.root / "never")}
    claude.user(directive(LONG, agent, {"text": "end"}))
    claude.result()
    claude.control("r1", "interrupt")
    claude.until_type("control_response")
    assert lists(claude)[-1] == ["long"]


@BOTH
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"decision": "block", "reason": "NO"}, "UserPromptSubmit operation blocked by hook:\nNO"),
        ({"continue": False, "stopReason": "NO"}, "Operation stopped by hook: NO"),
    ],
)
def test_a_blocked_prompt_is_a_success_without_a_turn(
    home: Home, version: str, answer: Json, said: str
) -> None:
    """Issue 9, 10."""
    hook = {"type": "command", "command": f"echo '{json.dumps(answer)}'"}
    settings = json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}})
    claude = spoken_to(home, f"--settings={settings}", version=version)
    claude.user("hello")
    result = claude.result()
    assert (result["subtype"], result["is_error"], result["num_turns"]) == ("success", False, 0)
    assert result["result"].startswith(said)
    assert not {"terminal_reason", "api_error_status"} & set(result)


def test_a_blank_prompt_reaches_no_model_since_332(home: Home) -> None:
    """Issue 9, 10."""
    claude = spoken_to(home)
    claude.user("\ufeff")
    result = claude.result()
    assert (result["num_turns"], result["result"][:12]) == (0, "Blank prompt")


def test_a_result_can_lack_its_line_end(home: Home) -> None:
    """Issue 9, 12."""
    claude = home.say(directive({"no_line_end": True}, {"text": "x"}))
    assert claude.result()["result"] == "x"
    assert claude.rc() == 0
