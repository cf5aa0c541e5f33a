"""What the API refuses is a failure in its own words, whatever claude's exit says."""

from __future__ import annotations

import pytest

from e2e.sandbox import FEW_RETRIES
from e2e.script import Fail, Say, bash
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e

AT_ONCE = {"retry-after": "0"}


@on_both_versions
@pytest.mark.parametrize(
    ("failure", "words", "cause"),
    [
        (Fail(status=400, message="bad-request-here"), "bad-request-here", "other"),
        (Fail(status=400, message="prompt is too long: 9 > 8"), "Prompt is too long", "context"),
        (Fail(status=401, message="who-are-you"), "401", "auth"),
        (Fail(status=404, message="model: nope"), "selected model", "model"),
        (Fail(status=429, message="slow-down", headers=AT_ONCE), "slow-down", "rate_limit"),
        (Fail(status=529, message="overloaded-here", headers=AT_ONCE), "529", "overloaded"),
    ],
    ids=["400", "too-long", "401", "404", "429", "529"],
)
async def test_an_api_error_fails_the_run_with_its_words_and_its_cause(
    world: World, failure: Fail, words: str, cause: str
) -> None:
    """The result line says subtype "success". Issue 9, 32."""
    world.environment = FEW_RETRIES
    async with world.daemon():
        await world.start("lint", world.api.script(failure))
        session = await world.ended("lint")
    assert (session["state"], session["stop_reason"]) == ("failed", "failed")
    assert words in session["message"]
    assert session["cause"] == cause
    [notice] = world.notices()
    assert notice["kind"] == "failed"
    assert words in notice["text"]


@on_both_versions
async def test_without_a_login_the_advice_is_for_the_operator(world: World) -> None:
    """Issue 9, 32."""
    (world.sandbox.home / ".claude.json").unlink()
    async with world.daemon():
        await world.start("lint", world.api.script())
        session = await world.ended("lint")
    assert (session["state"], session["cause"]) == ("failed", "auth")
    [notice] = world.notices()
    assert "the operator has to log in" in notice["text"]


async def test_an_error_in_a_later_turn_ends_the_goal_loop(world: World) -> None:
    named = world.api.script(Say(text="one"), Fail(status=400, message="bad-request-here"))
    async with world.daemon():
        await world.start("lint", named, goal="no warnings left")
        session = await world.ended("lint")
    assert (session["state"], session["turn"]) == ("failed", 2)
    assert "bad-request-here" in session["message"]
    assert "turn 3" not in world.api.of(named)[-1].user_text


async def test_an_error_that_passes_is_retried_and_the_run_finishes(world: World) -> None:
    """R32."""
    named = world.api.script(bash("true"), Fail(status=529, times=1, headers={"retry-after": "0"}))
    async with world.daemon():
        await world.start("lint", named)
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "recovered")


async def test_a_stream_that_is_cut_is_asked_for_again(world: World) -> None:
    world.environment = FEW_RETRIES
    named = world.api.script(Say(text="x" * 1000, chunks=10, cut=True))
    async with world.daemon():
        await world.start("lint", named)
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "x" * 1000)
