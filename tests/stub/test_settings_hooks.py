"""Hooks that the settings name: commands, and posts."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from stub.process import STREAM, Home, Json, directive

SHOW: Json = {"echo_seen": True}


def context(event: str, text: str) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def commands(event: str, **hook: Any) -> list[str]:
    """--settings with one hook."""
    value = {"hooks": {event: [{"matcher": "Bash", "hooks": [{"type": "command", **hook}]}]}}
    return ["--settings", json.dumps(value)]


def test_a_command_reads_the_event_and_its_answer_counts(home: Home) -> None:
    file = home.root / "event"
    answer = json.dumps(context("PostToolUse", "INFO"))
    hook = commands("PostToolUse", command=f"cat > {file}; echo '{answer}'")
    claude = home.say(directive({"bash": "echo hi"}, SHOW), *STREAM, *hook)
    assert "INFO" in claude.result()["result"]
    event = json.loads(file.read_text())
    assert event["tool_input"]["command"] == "echo hi"
    assert event["session_id"] == claude.seen[0]["session_id"]


def test_exit_2_blocks_with_stderr_and_leaks_the_command_line(home: Home) -> None:
    hook = commands("PostToolUse", command="echo WHY >&2; exit 2")
    claude = home.say(directive({"bash": "true"}, SHOW), *STREAM, *hook)
    told = json.loads(claude.result()["result"])[-1]
    assert told.endswith('from command: "echo WHY >&2; exit 2": WHY')


@pytest.mark.parametrize(
    "command", ["exit 1", "/no/such/program", "echo plain text", "perl -e 'sleep 300'"]
)
def test_a_hook_that_fails_or_says_nothing_lets_the_turn_go_on(home: Home, command: str) -> None:
    hook = commands("PostToolUse", command=command, timeout=0.1)
    claude = home.say(directive({"bash": "true"}, SHOW), *STREAM, *hook)
    result = claude.result()
    assert len(json.loads(result["result"])) == 1
    assert claude.rc() == 0


def test_hook_events_are_shown_when_asked_for(home: Home) -> None:
    hook = commands("PostToolUse", command="echo '{\"continue\": false}'")
    arguments = [*STREAM, *hook, "--include-hook-events"]
    claude = home.say(directive({"bash": "true"}), *arguments, version="2.1.197")
    assert claude.result()["terminal_reason"] == "hook_stopped"
    shown = [line for line in claude.seen if str(line.get("subtype")).startswith("hook_")]
    assert [line["subtype"] for line in shown] == ["hook_started", "hook_response"]
    assert (shown[1]["exit_code"], shown[1]["hook_name"]) == (0, "PostToolUse:Bash")


def test_hooks_of_all_setting_sources_run_unless_the_sources_are_empty(home: Home) -> None:
    for place in (home.config / "settings.json", home.work / ".claude" / "settings.json"):
        place.parent.mkdir(parents=True, exist_ok=True)
        mark = home.root / place.parent.name
        value = {"hooks": {"PostToolUse": [{"hooks": [
            {"type": "command", "command": f"touch {mark}-ran"}]}]}}  # fmt: skip
        place.write_text(json.dumps(value))
    ran = [home.root / "config-ran", home.root / ".claude-ran"]
    assert home.say(directive({"bash": "true"}), *STREAM, "--setting-sources", "").rc() == 0
    assert [mark.exists() for mark in ran] == [False, False]
    assert home.say(directive({"bash": "true"}), *STREAM).rc() == 0
    assert [mark.exists() for mark in ran] == [True, True]


def test_a_prompt_can_be_blocked(home: Home) -> None:
    value = {"hooks": {"UserPromptSubmit": [{"hooks": [
        {"type": "command", "command": "echo NOT THIS >&2; exit 2"}]}]}}  # fmt: skip
    claude = home.say("secret", *STREAM, "--settings", json.dumps(value))
    result = claude.result()
    assert (result["subtype"], result["is_error"]) == ("success", False)
    assert "NOT THIS" in result["result"]
    assert "secret" in result["result"]


@pytest.fixture
def posted() -> Iterator[tuple[str, list[tuple[str, Json]]]]:
    """A server that keeps what is posted and answers with context."""
    got: list[tuple[str, Json]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers["X-Token"], json.loads(body)))
            data = json.dumps(context("PostToolUse", "POSTED")).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", got
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_hook_can_be_a_post(home: Home, posted: tuple[str, list[tuple[str, Json]]]) -> None:
    url, got = posted
    value = {"hooks": {"PostToolUse": [{"hooks": [{
        "type": "http", "url": url, "headers": {"X-Token": "$TOK"}, "allowedEnvVars": ["TOK"],
    }]}]}}  # fmt: skip
    arguments = [*STREAM, "--settings", json.dumps(value)]
    claude = home.say(directive({"bash": "true"}, SHOW), *arguments, TOK="abc")
    assert "POSTED" in claude.result()["result"]
    assert got[0][0] == "abc"
    assert got[0][1]["hook_event_name"] == "PostToolUse"
