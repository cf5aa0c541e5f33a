"""Slash commands: what never reaches the model."""

from __future__ import annotations

import pytest

from stub.process import BOTH_WAYS, STREAM, Home, Json

VERSIONS = ["2.1.197", "2.1.332"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", [STREAM, BOTH_WAYS])
def test_clear_answers_nothing_and_begins_another_session(
    home: Home, version: str, mode: list[str]
) -> None:
    """R30"""
    claude = home.start(*mode, "--name=alpha", version=version)
    if mode is BOTH_WAYS:
        claude.user("hello")
        first = claude.result()["session_id"]
        claude.user("/clear")
    else:
        first = ""
        claude.write(b"/clear")
    claude.close_stdin()
    lines = claude.rest()
    result = lines[-1]
    assert (result["subtype"], result["result"], result["num_turns"]) == ("success", "", 0)
    assert "terminal_reason" not in result
    assert result["session_id"] != first
    assert claude.rc() == 0
    if version == "2.1.332":
        assert (lines[0]["type"], lines[0]["trigger"]) == ("conversation_reset", "clear")
        assert (result["local_command"], result["total_cost_usd"]) == ("clear", 0)


def test_the_turn_after_a_clear_belongs_to_the_new_session(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user("hello")
    old = claude.result()["session_id"]
    claude.user("/clear")
    new = claude.result()["session_id"]
    claude.user("again")
    assert claude.result()["session_id"] == new
    assert {path.stem for path in home.transcripts()} == {old, new}


@pytest.mark.parametrize(
    ("version", "answer"),
    [("2.1.197", "Unknown command: /nonsense"), ("2.1.332", "ok: /nonsense foo")],
)
def test_an_unknown_command_is_an_answer_of_197_and_text_to_332(
    home: Home, version: str, answer: str
) -> None:
    """R30"""
    result = home.say("/nonsense foo", version=version).result()
    assert result["result"] == answer
    assert ("terminal_reason" in result) == (version == "2.1.332")


def test_other_local_commands_say_something_without_a_request(home: Home) -> None:
    for command in ("/cost", "/context", "/compact"):
        result: Json = home.say(command).result()
        assert (result["num_turns"], result["usage"]["input_tokens"]) == (0, 0)
        assert result["result"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("prompt", [" /clear", "\n/clear", "/home/x is a path", "/", "/ clear"])
def test_a_leading_blank_or_a_path_is_a_prompt(home: Home, version: str, prompt: str) -> None:
    assert home.say(prompt, version=version).result()["result"] == f"ok: {prompt}"
