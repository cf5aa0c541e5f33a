"""Why a turn failed: each failure that was recorded of the real CLI has its cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.claude.failures import cause_of, resets_at
from hive_subagent.claude.outcome import Exit, Failed, decide, words
from hive_subagent.models.session import FailureCause

RECORDED = [
    pytest.param(json.loads(line), id=f"{file.stem}-{json.loads(line)['case']}")
    for file in sorted((Path(__file__).parent / "failures").glob("*.jsonl"))
    for line in file.read_text().splitlines()
]


@pytest.mark.parametrize("recorded", RECORDED)
def test_a_recorded_failure_has_its_cause(recorded: dict[str, Any]) -> None:
    """Issue 9, 32: 2.1.197 and 2.1.332 against a scripted API, and without a login."""
    outcome = decide(recorded["result"], None)
    assert outcome == Failed(words(recorded["result"]) or "", FailureCause(recorded["cause"]))


def test_every_cause_but_ours_was_recorded() -> None:
    recorded = {parameter.values[0]["cause"] for parameter in RECORDED}  # type: ignore[index]
    assert recorded >= set(FailureCause) - {FailureCause.BLOCKED, FailureCause.MCP}


@pytest.mark.parametrize(
    ("stderr", "cause"),
    [
        ("Error: Invalid MCP configuration:\nMCP config file not found: /x.json", "mcp"),
        ("error: unknown option '--nope'", "other"),
        ("Warning: x\nNot logged in · Please run /login", "auth"),
    ],
)
def test_a_claude_that_dies_without_a_result_has_the_cause_of_its_stderr(
    stderr: str, cause: str
) -> None:
    outcome = decide(None, Exit(1), stderr=stderr)
    assert isinstance(outcome, Failed)
    assert outcome.cause == cause


def test_words_amid_another_error_decide_nothing() -> None:
    """An API's message can quote anything."""
    line = {"type": "result", "is_error": True, "api_error_status": 400}
    said = "API Error: 400 the tool said: Not logged in"
    assert cause_of(line, said) is FailureCause.OTHER


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
)
FIELDS = ("stop_reason", "subtype", "terminal_reason", "api_error_status")


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, junk)), st.text(max_size=20))
def test_whatever_stands_in_the_fields_there_is_one_cause(line: dict[str, Any], said: str) -> None:
    assert cause_of(line, said) in FailureCause


@given(junk, junk)
def test_a_limit_ends_at_a_number_or_nobody_knows_when(info: Any, at: Any) -> None:
    assert resets_at({"rate_limit_info": info}) is None
    told = resets_at({"rate_limit_info": {"status": "rejected", "resetsAt": at}})
    assert told is None or isinstance(told, int | float)
    assert resets_at({"rate_limit_info": {"status": "allowed", "resetsAt": 1.0}}) is None
