"""The lines have the keys of the measured samples, version by version."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from stub.process import BOTH_WAYS, STREAM, Home, Json, directive

SAMPLES = Path(__file__).parents[1] / "claude" / "samples"
VERSIONS = ["2.1.197", "2.1.332"]
# written by the measuring set-up or by the machine, not by the CLI
_NOT_OURS = {"timestamp"}


def sample(version: str, name: str) -> list[Json]:
    """The lines of one measured stream."""
    found = []
    with (SAMPLES / version / f"{name}.jsonl").open("rb") as file:
        for raw in file:
            try:
                found.append(json.loads(raw))
            except ValueError:
                continue
    return found


def keys(line: Json, *path: str) -> list[str]:
    """The keys of a line, or of an object in it."""
    value = line
    for step in path:
        value = value[step]
    return [key for key in value if key not in _NOT_OURS]


def first(lines: list[Json], wanted: Callable[[Json], bool]) -> Json:
    return next(line for line in lines if wanted(line))


def of(kind: str, subtype: str | None = None) -> Callable[[Json], bool]:
    return lambda line: line["type"] == kind and subtype in (None, line.get("subtype"))


def kinds(lines: list[Json]) -> list[tuple[str, str | None]]:
    """The order of a stream: type and subtype of each line."""
    return [(line["type"], line.get("subtype")) for line in lines]


def compare(ours: Json, theirs: Json, *path: str) -> None:
    """The same keys in the same order."""
    assert keys(ours, *path) == keys(theirs, *path)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plain_run_prints_the_measured_keys_in_the_measured_order(
    home: Home, version: str
) -> None:
    claude = home.say(
        directive({"text": "I run it"}, {"bash": "echo hi"}, {"text": "it said hi"}),
        version=version,
    )
    ours, theirs = claude.rest(), sample(version, "success")
    assert claude.rc() == 0
    for wanted in (of("system", "init"), of("assistant"), of("user"), of("result")):
        compare(first(ours, wanted), first(theirs, wanted))
    for inner in (("message",), ("message", "usage")):
        compare(first(ours, of("assistant")), first(theirs, of("assistant")), *inner)
    our_result, their_result = first(ours, of("result")), first(theirs, of("result"))
    compare(our_result, their_result, "usage")
    ours_model, theirs_model = (
        next(iter(result["modelUsage"].values())) for result in (our_result, their_result)
    )
    assert list(ours_model) == list(theirs_model)
    for key in ("subtype", "is_error", "num_turns", "terminal_reason", "total_cost_usd", "usage"):
        assert our_result[key] == their_result[key]
    our_user, their_user = first(ours, of("user")), first(theirs, of("user"))
    assert our_user["message"]["content"][0].keys() == their_user["message"]["content"][0].keys()
    assert our_user["tool_use_result"] == their_user["tool_use_result"]
    assert first(ours, of("system", "init"))["claude_code_version"] == version


@pytest.mark.parametrize("version", VERSIONS)
def test_an_interrupted_bash_ends_as_measured(home: Home, version: str) -> None:
    claude = home.start(*BOTH_WAYS, version=version)
    claude.user(directive({"bash": "echo started; perl -e 'sleep 300'"}))
    claude.until(of("assistant"))
    claude.control("r1", "interrupt")
    claude.result()
    theirs = sample(version, "stream-input-interrupt")
    upto = next(i for i, line in enumerate(theirs) if line["type"] == "result")
    measured = [kind for kind in kinds(theirs[: upto + 1]) if kind[0] != "assistant"]
    assert [kind for kind in kinds(claude.seen) if kind[0] != "assistant"] == measured
    ours, measured_result = claude.seen[-1], theirs[upto]
    compare(ours, measured_result)
    for key in ("subtype", "is_error", "terminal_reason", "stop_reason", "errors"):
        assert ours[key] == measured_result[key]
    rejection = first(claude.seen, of("user"))
    compare(rejection, first(theirs, of("user")))
    assert (
        rejection["message"]["content"][0]["content"]
        == (first(theirs, of("user"))["message"]["content"][0]["content"])
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("step", "case"),
    [
        ({"api_error": 401}, "401"),
        ({"api_error": 529}, "529"),
        ({"api_error": None}, "refused"),
        ({"api_error": "login"}, "nologin"),
        ({"api_error": "refusal"}, "refusal"),
        ({"api_error": 429, "resets_at": 1796101722}, "oauth-429"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_failure_has_the_measured_fields(home: Home, version: str, step: Json, case: str) -> None:
    recorded = (SAMPLES.parent / "failures" / f"{version}.jsonl").read_text().splitlines()
    theirs = next(line["result"] for line in map(json.loads, recorded) if line["case"] == case)
    claude = home.say(directive(step), version=version)
    ours = claude.result()
    for key in ("is_error", "api_error_status", "stop_reason", "terminal_reason"):
        assert ours[key] == theirs[key]
    assert [key for key in ours if key in theirs] == list(theirs)
    if "resets_at" in step:
        assert ours["result"] == theirs["result"]
        assert any(of("rate_limit_event")(line) for line in claude.seen)


@pytest.mark.parametrize(
    ("status", "name"), [(401, "api-error-401"), (404, "api-error-model-not-found")]
)
def test_an_api_error_has_the_measured_shape(home: Home, status: int, name: str) -> None:
    claude = home.say(
        directive({"api_retry": 1, "status": status}, {"api_error": status}), version="2.1.197"
    )
    ours, theirs = claude.rest(), sample("2.1.197", name)
    assert claude.rc() == 1
    compare(first(ours, of("assistant")), first(theirs, of("assistant")))
    compare(first(ours, of("assistant")), first(theirs, of("assistant")), "message")
    our_result, their_result = ours[-1], theirs[-1]
    compare(our_result, their_result)
    for key in ("subtype", "is_error", "api_error_status", "terminal_reason", "stop_reason"):
        assert our_result[key] == their_result[key]
    assert first(ours, of("assistant"))["error"] == first(theirs, of("assistant"))["error"]
    if any(of("system", "api_retry")(line) for line in theirs):
        retry = of("system", "api_retry")
        assert set(first(ours, retry)) == set(first(theirs, retry))
        assert first(ours, retry)["error"] == first(theirs, retry)["error"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_background_task_prints_the_measured_lines(home: Home, version: str) -> None:
    claude = home.say(
        directive(
            {"bash": "sleep 33001", "background": True},
            {"text": "turn end"},
            background_grace=0.05,
        ),
        version=version,
    )
    ours, theirs = claude.rest(), sample("2.1.197", "background-bash")
    assert claude.rc() == 0
    if version == "2.1.197":
        assert kinds(ours) == kinds(theirs)
        for mine, measured in zip(ours[2:], theirs[2:], strict=True):
            assert set(mine) - _NOT_OURS == set(measured) - _NOT_OURS
    else:
        told = [line for line in ours if line.get("subtype") == "task_updated"]
        assert [line["patch"]["status"] for line in told] == ["killed"]


def test_a_steered_turn_prints_the_measured_lines_in_the_measured_order(home: Home) -> None:
    claude = home.start(*BOTH_WAYS, "--replay-user-messages")
    gate = home.root / "gate"
    claude.user(
        directive(
            {"tool": "Bash", "input": {"command": "x"}, "gate": str(gate)},
            {"bash": "echo second"},
            {"text": "end"},
        )
    )
    claude.until(of("assistant"))
    uuid = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
    claude.user("STEER: please look left", uuid=uuid)
    claude.until(of("command_lifecycle"))
    gate.touch()
    claude.result()
    theirs = sample("2.1.332", "stream-input-steer")
    measured = [k for k in kinds(theirs) if k[1] not in ("task_started", "task_notification")]
    assert kinds(claude.seen) == measured
    compare(claude.seen[-1], theirs[-1])
    lifecycle = [line for line in claude.seen if line["type"] == "command_lifecycle"]
    assert [line["state"] for line in lifecycle] == ["queued", "started", "completed"]
    compare(lifecycle[0], first(theirs, of("command_lifecycle")))
    echo = first(claude.seen[3:], lambda line: bool(line.get("isReplay")))
    measured_echo = first(theirs[3:], lambda line: bool(line.get("isReplay")))
    compare(echo, measured_echo)
    assert echo["uuid"] == uuid


def test_a_message_of_priority_now_prints_the_measured_lines(home: Home) -> None:
    claude = home.start(*BOTH_WAYS, "--replay-user-messages")
    gate = home.root / "gate"
    numbered = "11111111-0000-4000-8000-00000000000{}".format
    tool = {"tool": "Bash", "input": {"command": "x"}, "gate": str(gate)}
    claude.user(directive(tool, {"text": "never"}), uuid=numbered(1))
    claude.until(of("assistant"))
    claude.user(directive({"bash": "echo b"}, {"text": "end"}), uuid=numbered(3), priority="now")
    claude.until(of("command_lifecycle"))
    gate.touch()
    claude.result()
    claude.until(lambda line: line.get("state") == "completed")
    theirs = [
        line
        for line in sample("2.1.332", "stream-replay-acks")
        if numbered(2) not in (line.get("command_uuid"), line.get("uuid"))
        and line.get("subtype") not in ("task_started", "task_notification")
    ]
    assert kinds(claude.seen) == kinds(theirs)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_batch_hook_prints_the_measured_request(home: Home, version: str) -> None:
    claude = home.start(*BOTH_WAYS, version=version)
    hooks = {"PostToolBatch": [{"matcher": None, "hookCallbackIds": ["cb_0"], "timeout": 30}]}
    claude.control("init1", "initialize", hooks=hooks)
    claude.user(directive({"bash": "echo first"}, {"text": "never"}))
    asked = claude.until(of("control_request"))
    claude.answer(asked["request_id"], {"continue": False, "stopReason": "enough"})
    ours, theirs = claude.result(), sample("2.1.332", "hook-batch-stop")
    measured = first(theirs, of("control_request"))
    compare(asked, measured)
    compare(asked, measured, "request")
    compare(asked, measured, "request", "input")
    assert ours["terminal_reason"] == "hook_stopped"
    assert (ours["subtype"], ours["result"], ours["is_error"]) == ("success", "", False)


def test_a_resume_that_misses_prints_the_measured_line(home: Home) -> None:
    uuid = "55555555-5555-4555-8555-555555555555"
    for value, name in (("no such title", "resume-miss"), (uuid, "resume-miss-uuid")):
        claude = home.say("x", *STREAM, f"--resume={value}", version="2.1.197")
        (ours,) = claude.rest()
        (theirs,) = sample("2.1.197", name)
        compare(ours, theirs)
        assert ours["errors"] == theirs["errors"]
        measured = (SAMPLES / "2.1.197" / f"{name}.stderr").read_text()
        assert claude.stderr.strip() == measured.strip()
        assert claude.rc() == 1
