"""A failure has a cause, and the advice fits it."""

from __future__ import annotations

from typing import Any

import pytest
from support.house import House
from support.stub import NEW, OLD, script, text

from hive_subagent.messages.advice import advice
from hive_subagent.models.session import FailureCause, SessionView, State, StopReason

CASES: dict[FailureCause, tuple[dict[str, Any], str]] = {
    FailureCause.AUTH: ({"api_error": "login"}, "the operator has to log in"),
    FailureCause.RATE_LIMIT: ({"api_error": 429}, "`continue` it later"),
    FailureCause.OVERLOADED: ({"api_error": 529}, "`continue` it in a few minutes"),
    FailureCause.CONTEXT: ({"api_error": 400}, "`continue` would most likely fail again"),
    FailureCause.MODEL: ({"api_error": 404}, "another `model`"),
    FailureCause.REFUSAL: ({"api_error": "refusal"}, "would be refused again"),
    FailureCause.BLOCKED: ({"result": {"terminal_reason": "hook_stopped"}}, "a hook"),
    FailureCause.SCHEMA: (
        {"result": {"subtype": "error_max_structured_output_retries", "is_error": True}},
        "the schema",
    ),
    FailureCause.OTHER: ({"api_error": None}, "Fix the cause"),
}


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("cause", CASES)
async def test_a_failure_has_its_cause_and_advice_that_fits(
    home: House, version: str, cause: FailureCause
) -> None:
    """Issue 9, 32."""
    step, words = CASES[cause]
    view = await home.run(script(step, version=version))
    assert (view.state, view.cause) == (State.FAILED, cause)
    (notice,) = await home.notices()
    assert words in notice["text"]


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_the_end_of_a_limit_is_told_where_claude_tells_it(home: House, version: str) -> None:
    """Issue 9, 32: a subscription's limit ends at a known time."""
    view = await home.run(script({"api_error": 429, "resets_at": 1796101722}, version=version))
    assert (view.cause, view.resets_at) == (FailureCause.RATE_LIMIT, "2026-12-01T05:08:42Z")
    (notice,) = await home.notices()
    assert "`continue` it after 2026-12-01T05:08:42Z" in notice["text"]
    await home.service.continue_("agent", script(text("x")))
    assert (await home.ended()).resets_at is None


@pytest.mark.parametrize("cause", [*FailureCause, None])
def test_there_is_advice_for_every_cause(cause: FailureCause | None) -> None:
    """Issue 9, 32; None: an ending that was kept before there were causes."""
    view = SessionView(
        name="x",
        session_id="",
        dir="/",
        state=State.FAILED,
        stop_reason=StopReason.FAILED,
        cause=cause,
    )
    assert "`continue`" in advice(view) or "`start`" in advice(view)
    assert "no session" in advice(view.model_copy(update={"turn": 0}))
