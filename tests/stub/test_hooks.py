"""Hooks that are callbacks of the control channel."""

from __future__ import annotations

import json

import pytest

from stub.process import BOTH_WAYS, Claude, Home, Json, directive

VERSIONS = ["2.1.197", "2.1.332"]
SHOW: Json = {"echo_seen": True}


def hooked(home: Home, *events: str, version: str | None = None) -> Claude:
    """A process with one callback for each of these events; its id is the event's name."""
    claude = home.start(*BOTH_WAYS, version=version)
    hooks = {event: [{"matcher": None, "hookCallbackIds": [event]}] for event in events}
    claude.control("init", "initialize", hooks=hooks)
    answer = claude.until_type("control_response")["response"]
    assert answer["subtype"] == "success"
    assert answer["response"]["pid"] == claude.pid
    return claude


def reply(claude: Claude, response: Json) -> Json:
    """Answer the next callback; gives its input."""
    asked = claude.until_type("control_request")
    claude.answer(asked["request_id"], response)
    given: Json = asked["request"]["input"]
    return given


def context(event: str, text: str) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolBatch", "PreToolUse"])
def test_context_of_a_hook_reaches_the_model(home: Home, event: str) -> None:
    claude = hooked(home, event)
    claude.user(directive({"bash": "echo hi"}, SHOW))
    reply(claude, context(event, "INFO"))
    assert "INFO" in claude.result()["result"]


def test_a_block_after_a_tool_reaches_the_model_and_the_turn_goes_on(home: Home) -> None:
    claude = hooked(home, "PostToolUse")
    claude.user(directive({"bash": "echo hi"}, SHOW))
    given = reply(claude, {"decision": "block", "reason": "BLOCKED"})
    assert given["tool_response"]["stdout"] == "hi"
    result = claude.result()["result"]
    assert 'blocking error from command: \\"callback\\": BLOCKED' in result


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolBatch"])
def test_continue_false_stops_the_turn_after_the_step(home: Home, event: str) -> None:
    claude = hooked(home, event)
    claude.user(directive({"tools": [{"bash": "echo a"}, {"bash": "echo b"}]}, {"text": "never"}))
    reply(claude, {"continue": False, "stopReason": "S"})
    if event == "PostToolUse":
        reply(claude, {})  # its sibling runs all the same
    result = claude.result()
    assert (result["terminal_reason"], result["result"]) == ("hook_stopped", "")
    assert not result["is_error"]
    assert len([line for line in claude.seen if line["type"] == "user"]) == 2
    claude.user("next")
    assert claude.until_type("assistant")["message"]["content"][0]["text"] == "ok: next"


def test_a_failed_tool_calls_the_failure_hook_only_and_cannot_be_stopped(home: Home) -> None:
    claude = hooked(home, "PostToolUse", "PostToolUseFailure")
    claude.user(directive({"bash": "exit 3"}, SHOW))
    given = reply(claude, {"continue": False, **context("PostToolUseFailure", "INFO")})
    assert given["hook_event_name"] == "PostToolUseFailure"
    assert "INFO" in claude.result()["result"]


@pytest.mark.parametrize(
    "answer",
    [
        {"decision": "block", "reason": "NO"},
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "NO",
            }
        },
    ],
)
def test_a_denied_tool_does_not_run(home: Home, answer: Json) -> None:
    claude = hooked(home, "PreToolUse")
    claude.user(directive({"bash": f"touch {home.root}/ran"}, {"text": "end"}))
    reply(claude, answer)
    result = claude.result()
    told = next(line for line in claude.seen if line["type"] == "user")
    assert told["message"]["content"][0]["content"] == "NO"
    assert [denial["tool_name"] for denial in result["permission_denials"]] == ["Bash"]
    assert not (home.root / "ran").exists()


def test_continue_false_before_a_tool_lets_it_run_and_then_stops(home: Home) -> None:
    claude = hooked(home, "PreToolUse")
    claude.user(directive({"bash": f"touch {home.root}/ran"}, {"text": "never"}))
    reply(claude, {"continue": False})
    assert claude.result()["terminal_reason"] == "hook_stopped"
    assert (home.root / "ran").exists()


def test_updated_input_is_what_runs(home: Home) -> None:
    claude = hooked(home, "PreToolUse")
    claude.user(directive({"bash": "echo old"}, {"text": "end"}))
    updated = {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo new"}}
    reply(claude, {"hookSpecificOutput": updated})
    claude.result()
    told = next(line for line in claude.seen if line["type"] == "user")
    assert told["message"]["content"][0]["content"] == "new"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stop_hook_lets_the_turn_go_on_until_it_is_content(home: Home, version: str) -> None:
    claude = hooked(home, "Stop", version=version)
    claude.user(directive({"text": "a"}, {"end": True}, {"text": "b"}))
    assert reply(claude, {"decision": "block", "reason": "MORE"})["stop_hook_active"] is False
    given = reply(claude, {})
    assert (given["stop_hook_active"], given["last_assistant_message"]) == (True, "b")
    assert claude.result()["result"] == "b"
    feedback = next(line for line in claude.seen if line.get("isSynthetic"))
    assert feedback["message"]["content"][0]["text"] == "Stop hook feedback:\nMORE"


@pytest.mark.parametrize(("version", "warnings"), [("2.1.332", 1), ("2.1.197", 0)])
def test_a_stop_hook_is_overridden_at_its_ninth_block_in_a_row(
    home: Home, version: str, warnings: int
) -> None:
    """Issue 9, 11: 2.1.197 gives no warning."""
    claude = hooked(home, "Stop", version=version)
    claude.user("x")
    for _ in range(9):
        reply(claude, {"decision": "block", "reason": "MORE"})
    result = claude.result()
    assert (result["result"], result["num_turns"]) == ("", 10)
    said = [line for line in claude.seen if line.get("key") == "stop-hook-block-cap"]
    assert len(said) == warnings


def test_a_stop_hook_can_prevent(home: Home) -> None:
    """The answer stands in the result all the same (2.1.197 and 2.1.332)."""
    claude = hooked(home, "Stop")
    claude.user(directive({"text": "the whole answer"}))
    reply(claude, {"continue": False})
    result = claude.result()
    assert (result["terminal_reason"], result["is_error"]) == ("stop_hook_prevented", False)
    assert result["result"] == "the whole answer"


def test_an_interrupt_cancels_a_hook_that_is_awaited(home: Home) -> None:
    claude = hooked(home, "PostToolBatch")
    claude.user(directive({"bash": "true"}, SHOW))
    asked = claude.until_type("control_request")
    claude.control("cut", "interrupt")
    claude.user(directive(SHOW))
    assert claude.until_type("control_cancel_request")["request_id"] == asked["request_id"]
    claude.answer(asked["request_id"], context("PostToolBatch", "TOO LATE"))
    assert claude.result()["terminal_reason"] == "aborted_tools"
    assert "TOO LATE" not in claude.result()["result"]


def test_an_answer_is_echoed_and_its_context_stands_in_the_transcript(home: Home) -> None:
    claude = home.start(*BOTH_WAYS, "--replay-user-messages")
    hooks = {"PostToolBatch": [{"matcher": None, "hookCallbackIds": ["step"]}]}
    claude.control("init", "initialize", hooks=hooks)
    claude.until_type("control_response")
    claude.user(directive({"bash": "true"}, SHOW))
    asked = claude.until_type("control_request")
    claude.answer(asked["request_id"], context("PostToolBatch", "INFO"))
    assert claude.until_type("control_response")["response"]["request_id"] == asked["request_id"]
    claude.result()
    [path] = home.transcripts()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    attached = [line["attachment"] for line in lines if line["type"] == "attachment"]
    known = {a["toolUseID"]: a["content"] for a in attached if "toolUseID" in a}
    assert known == {asked["request"]["tool_use_id"]: ["INFO"]}


def test_an_interrupt_while_a_hook_is_awaited_is_the_end_of_197(home: Home) -> None:
    claude = hooked(home, "PostToolBatch", version="2.1.197")
    claude.user(directive({"bash": "true"}, SHOW))
    claude.until_type("control_request")
    claude.control("cut", "interrupt")
    assert "terminal_reason" not in claude.result()
    assert claude.rc() == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_hook_without_an_answer_is_given_up_when_stdin_ends(home: Home, version: str) -> None:
    claude = hooked(home, "PostToolUse", version=version)
    claude.user(directive({"bash": "true"}, {"text": "end"}))
    claude.until_type("control_request")
    claude.close_stdin()
    assert claude.result()["result"] == "end"
    assert claude.rc() == 0
