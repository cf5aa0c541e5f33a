"""Every measured way in which a turn can end, and what it is called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import batch_of

from hive_subagent.claude.conversation import Conversation, Message
from hive_subagent.claude.outcome import Completed, Exit, Failed, Killed, Outcome, decide
from hive_subagent.models.session import Cause, FailureCause


def result(
    subtype: str = "success",
    *,
    is_error: bool = False,
    terminal_reason: str | None = "completed",
    text: str | None = "done",
    errors: list[str] | None = None,
) -> dict[str, Any]:
    line: dict[str, Any] = {"type": "result", "subtype": subtype, "is_error": is_error}
    if terminal_reason is not None:
        line["terminal_reason"] = terminal_reason
    if text is not None:
        line["result"] = text
    if errors is not None:
        line["errors"] = errors
    return line


DURING = "error_during_execution"

# what was seen (2.1.197 and 2.1.332 where they differ), the result line, the exit, the outcome
ROWS: list[tuple[str, dict[str, Any] | None, int, Outcome]] = [
    ("a normal end", result(), 0, Completed("done")),
    ("an exit code after a completed result", result(), 1, Completed("done")),
    ("a signal after a completed result", result(), -9, Completed("done")),
    (
        "an API error, 2.1.197",
        result(is_error=True, text="API Error: 529"),
        1,
        Failed("API Error: 529"),
    ),
    (
        "an API error, 2.1.332",
        result(is_error=True, terminal_reason="api_error", text="Failed to authenticate."),
        1,
        Failed("Failed to authenticate.", FailureCause.AUTH),
    ),
    (
        "a prompt too long",
        result(is_error=True, terminal_reason="prompt_too_long", text="Prompt is too long"),
        1,
        Failed("Prompt is too long", FailureCause.CONTEXT),
    ),
    (
        "--max-turns",
        result("error_max_turns", is_error=True, terminal_reason="max_turns", text=None),
        1,
        Failed("claude ended with max_turns"),
    ),
    (
        "--max-budget-usd, 2.1.197",
        result("error_max_budget_usd", is_error=True, terminal_reason=None, text=None),
        1,
        Failed("claude ended with error_max_budget_usd"),
    ),
    (
        "--max-budget-usd, 2.1.332",
        result(
            "error_max_budget_usd", is_error=True, terminal_reason="budget_exhausted", text=None
        ),
        1,
        Failed("claude ended with budget_exhausted"),
    ),
    (
        "a resume miss",
        result(DURING, is_error=True, terminal_reason=None, text=None, errors=["No conversation"]),
        1,
        Failed("No conversation"),
    ),
    (
        "somebody's SIGINT in a tool, 2.1.197",
        result(DURING, is_error=True, terminal_reason="aborted_tools", text=None),
        1,
        Killed(Cause.SIGNAL, "SIGINT", "claude ended with aborted_tools"),
    ),
    (
        "somebody's SIGINT in a stream",
        result(DURING, is_error=True, terminal_reason="aborted_streaming", text=None),
        0,
        Killed(Cause.SIGNAL, "SIGINT", "claude ended with aborted_streaming"),
    ),
    (
        "a hook that stopped the turn",
        result(terminal_reason="hook_stopped", text=""),
        0,
        Failed("claude ended with hook_stopped", FailureCause.BLOCKED),
    ),
    (
        "a Stop hook that prevented going on",
        result(terminal_reason="stop_hook_prevented", text=""),
        0,
        Failed("claude ended with stop_hook_prevented", FailureCause.BLOCKED),
    ),
    (
        "a message with priority now",
        result(terminal_reason="aborted_tools", text=""),
        0,
        Failed("claude ended with aborted_tools"),
    ),
    (
        "a blocked prompt has no terminal_reason, which is no failure",
        result(terminal_reason=None, text="blocked"),
        0,
        Completed("blocked"),
    ),
    (
        "SIGINT in an API wait: exit 0 and no result",
        None,
        0,
        Failed("claude exited with 0 and gave no result"),
    ),
    ("SIGTERM, handled by claude", None, 143, Killed(Cause.SIGNAL, "SIGTERM")),
    ("SIGTERM before it was up", None, -15, Killed(Cause.SIGNAL, "SIGTERM")),
    ("SIGINT before it was up", None, -2, Killed(Cause.SIGNAL, "SIGINT")),
    ("SIGHUP", None, 129, Killed(Cause.SIGNAL, "SIGHUP")),
    ("SIGQUIT", None, -3, Killed(Cause.SIGNAL, "SIGQUIT")),
    ("SIGKILL", None, -9, Killed(Cause.SIGNAL, "SIGKILL")),
    ("a signal without a name", None, -40, Killed(Cause.SIGNAL, "signal 40")),
    (
        "an exit code that is no signal",
        None,
        255,
        Failed("claude exited with 255 and gave no result"),
    ),
]


@pytest.mark.parametrize(
    ("line", "code", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_each_measured_ending_has_its_outcome(
    line: dict[str, Any] | None, code: int, expected: Outcome
) -> None:
    """R4: no result line is never a success."""
    assert decide(line, Exit(code)) == expected


def test_an_oom_kill_is_told_from_another_sigkill() -> None:
    assert decide(None, Exit(-9), oom=True) == Killed(Cause.OOM, "SIGKILL")


def test_an_interrupt_before_the_result_makes_it_an_interrupt() -> None:
    killed = decide(result(), Exit(0), stopped_by=Cause.INTERRUPT)
    assert killed == Killed(Cause.INTERRUPT, None)


def test_a_failure_without_a_result_brings_the_last_words_of_stderr() -> None:
    outcome = decide(None, Exit(1), stderr="Error: Settings file not found")
    assert outcome == Failed(
        "Error: Settings file not found (claude exited with 1 and gave no result)"
    )


def test_an_output_that_ended_without_a_result_is_a_failure_while_the_process_lives() -> None:
    assert decide(None, None) == Failed("claude's output ended without a result")


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=20), st.lists(st.text(max_size=5))
)
_LINES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["result", "assistant", "system"]),
        "subtype": st.sampled_from(["success", DURING, "error_max_turns"]) | _VALUES,
        "is_error": st.booleans() | _VALUES,
        "terminal_reason": st.sampled_from(
            ["completed", "aborted_tools", "api_error", "hook_stopped"]
        )
        | _VALUES,
        "result": _VALUES,
        "errors": _VALUES,
    },
)


@given(
    line=st.none() | _LINES,
    code=st.none() | st.integers(-70, 260),
    stopped_by=st.none() | st.sampled_from(Cause),
    oom=st.booleans(),
    stderr=st.text(max_size=20),
)
def test_nothing_is_called_finished_without_a_completed_result(
    line: dict[str, Any] | None,
    code: int | None,
    stopped_by: Cause | None,
    oom: bool,
    stderr: str,
) -> None:
    exit_ = None if code is None else Exit(code)
    outcome = decide(line, exit_, stopped_by=stopped_by, oom=oom, stderr=stderr)
    if isinstance(outcome, Completed):
        assert line is not None
        assert stopped_by is None
        assert (line["type"], line["subtype"], line["is_error"]) == ("result", "success", False)
        assert line.get("terminal_reason") in (None, "completed")
    if isinstance(outcome, Failed):
        assert outcome.message.strip()


@given(lines=st.lists(_LINES | st.binary(max_size=30), max_size=12), code=st.integers(-70, 260))
def test_an_arbitrary_stream_is_never_finished_without_a_completed_result(
    lines: list[dict[str, Any] | bytes], code: int
) -> None:
    """R3, R4."""
    raw = [json.dumps(x).encode() if isinstance(x, dict) else x for x in lines]
    conversation = Conversation()
    message = conversation.sent(Message("ours"))
    for line in raw:
        conversation.take(batch_of(line + b"\n"))
    outcome = decide(message.result, Exit(code))
    completed = any(
        event.get("type") == "result"
        and event.get("subtype") == "success"
        and event.get("is_error") is False
        and event.get("terminal_reason") in (None, "completed")
        for line in raw
        for event in map(_event, line.split(b"\n"))
    )
    assert completed or not isinstance(outcome, Completed)
