"""Which tools run, by mode and lists; and asking the service."""

from __future__ import annotations

import pytest

from stub.process import Home, Json, directive

PLAIN = ["-p", "--verbose", "--output-format", "stream-json"]


def ran(home: Home, *arguments: str) -> tuple[bool, Json]:
    """Whether a writing Bash ran under these arguments, and the result line."""
    mark = home.root / "ran"
    mark.unlink(missing_ok=True)
    claude = home.say(directive({"bash": f"touch {mark}"}, {"text": "end"}), *PLAIN, *arguments)
    result = claude.result()
    assert claude.rc() == 0
    return mark.exists(), result


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], False),
        (["--permission-mode=plan"], False),
        (["--permission-mode=dontAsk"], False),
        (["--permission-mode=acceptEdits"], False),
        (["--permission-mode=bypassPermissions"], True),
        (["--dangerously-skip-permissions"], True),
        (["--dangerously-skip-permissions", "--permission-mode=plan"], True),
        (["--allowedTools", "Bash", "Write"], True),
        (["--allowedTools=Bash,Write"], True),
        (["--settings", '{"permissions":{"allow":["Bash"]}}'], True),
    ],
)
def test_bash_runs_only_where_it_is_allowed(
    home: Home, arguments: list[str], expected: bool
) -> None:
    did, result = ran(home, *arguments)
    assert did == expected
    assert [denial["tool_name"] for denial in result["permission_denials"]] == (
        [] if expected else ["Bash"]
    )
    assert result["result"] == "end"


@pytest.mark.parametrize(
    "arguments", [["--disallowedTools", "Bash"], ["--tools", "Read,Grep"], ["--tools", ""]]
)
def test_a_tool_that_is_taken_away_is_not_there(home: Home, arguments: list[str]) -> None:
    """R29"""
    did, result = ran(home, *arguments, "--dangerously-skip-permissions")
    assert not did
    assert result["permission_denials"] == []


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("2.1.332", "SendMessage is disabled for this session, in subagents as well as here."),
        ("2.1.197", "SendMessage exists but is not enabled in this context."),
    ],
)
def test_what_is_denied_by_name_is_gone_from_init_and_nothing_else(
    home: Home, version: str, words: str
) -> None:
    """Issue 9, 3 and 4."""
    script = directive({"tool": "SendMessage", "input": {"to": "x"}}, {"text": "end"})
    lists = []
    for denied in ([], ["--disallowedTools=SendMessage,ListAgents,Cron*,Agent"]):
        claude = home.say(
            script, *PLAIN, "--dangerously-skip-permissions", *denied, version=version
        )
        claude.result()
        init = next(line for line in claude.seen if line.get("subtype") == "init")
        lists.append(set(init["tools"]))
    blocks = [line["message"]["content"][0] for line in claude.seen if line["type"] == "user"]
    assert blocks[0]["is_error"] is True
    assert words in blocks[0]["content"]
    offered = {"ListAgents"} & lists[0]
    assert lists[0] - lists[1] == offered | {
        "SendMessage",
        "CronCreate",
        "CronDelete",
        "CronList",
        "Task",
    }
    assert lists[1] < lists[0]


def test_without_a_shell_there_are_tools_that_search(home: Home) -> None:
    claude = home.say(directive({"text": "end"}), *PLAIN, "--disallowedTools", "Bash")
    claude.result()
    init = next(line for line in claude.seen if line.get("subtype") == "init")
    assert {"Glob", "Grep"} <= set(init["tools"])
    assert {"Bash", "Monitor"}.isdisjoint(init["tools"])


def test_a_pattern_takes_away_only_what_it_names(home: Home) -> None:
    did, _ = ran(home, "--disallowedTools", "Bash(rm *)", "--dangerously-skip-permissions")
    assert did


def test_reading_runs_in_plan_mode_and_writing_does_not(home: Home) -> None:
    steps: list[Json] = [
        {"bash": "ls"},
        {"tool": "Write", "input": {"file_path": "/x"}},
        {"tool": "Read"},
    ]
    claude = home.say(directive(*steps, {"text": "end"}), *PLAIN, "--permission-mode", "plan")
    result = claude.result()
    blocks = [line["message"]["content"][0] for line in claude.seen if line["type"] == "user"]
    assert [bool(block.get("is_error")) for block in blocks] == [False, True, False]
    assert blocks[1]["content"] == "Cannot write to /x while in plan mode."
    assert result["terminal_reason"] == "completed"


def test_a_project_cannot_raise_its_mode_since_332(home: Home) -> None:
    (home.work / ".claude").mkdir()
    (home.work / ".claude" / "settings.json").write_text(
        '{"permissions":{"defaultMode":"bypassPermissions"}}'
    )
    assert ran(home)[0] is False
    claude = home.say(directive({"bash": f"touch {home.root}/old"}), *PLAIN, version="2.1.197")
    claude.rc()
    assert (home.root / "old").exists()
    none = home.say(
        directive({"bash": f"touch {home.root}/none"}),
        *PLAIN,
        "--setting-sources=",
        version="2.1.197",
    )
    none.rc()
    assert not (home.root / "none").exists()


@pytest.mark.parametrize(
    ("answer", "expected", "reason"),
    [
        ({"behavior": "allow", "updatedInput": {"command": "echo other"}}, "other", "completed"),
        ({"behavior": "deny", "message": "NOT NOW"}, "NOT NOW", "completed"),
        ({"behavior": "deny", "message": "x", "interrupt": True}, None, "aborted_tools"),
    ],
)
def test_the_supervisor_is_asked(
    home: Home, answer: Json, expected: str | None, reason: str
) -> None:
    claude = home.start(*PLAIN, "--input-format=stream-json", "--permission-prompt-tool=stdio")
    claude.user(directive({"bash": "touch x"}, {"text": "end"}))
    asked = claude.until_type("control_request")
    assert asked["request"]["subtype"] == "can_use_tool"
    assert asked["request"]["input"]["command"] == "touch x"
    claude.answer(asked["request_id"], answer)
    assert claude.result()["terminal_reason"] == reason
    told = next(line for line in claude.seen if line["type"] == "user")
    if expected is not None:
        assert told["message"]["content"][0]["content"] == expected


def test_an_unanswered_question_is_a_denial_when_stdin_ends(home: Home) -> None:
    claude = home.start(*PLAIN, "--input-format=stream-json", "--permission-prompt-tool=stdio")
    claude.user(directive({"bash": "touch x"}, {"text": "end"}))
    claude.until_type("control_request")
    claude.close_stdin()
    assert claude.result()["result"] == "end"
    assert claude.rc() == 0
