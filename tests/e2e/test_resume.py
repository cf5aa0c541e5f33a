"""`continue` asks claude, and passes on what claude says."""

from __future__ import annotations

import os
import re
import time

import pytest

from e2e.cli import speak, speaking
from e2e.script import say
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


@on_both_versions
async def test_a_miss_is_the_calls_own_error_in_claudes_words(world: World) -> None:
    """R20. With the place that was searched; nothing is owed for it."""
    async with world.daemon():
        text = await world.refused("continue", name="nobody", prompt="go on")
        assert "does not match any session title" in text
        assert str(world.sandbox.dir) in text
        assert "dir" in text
        assert (await world.must("status"))["sessions"] == []
    assert world.notices() == []
    assert world.api.calls == []


@on_both_versions
async def test_a_transcript_that_is_gone_is_told_in_claudes_words(world: World) -> None:
    async with world.daemon():
        reply = await world.start("lint", world.api.script(say("one")))
        await world.ended("lint")
        [transcript] = world.sandbox.config.glob("projects/*/*.jsonl")
        transcript.unlink()
        text = await world.refused("continue", name="lint", prompt="go on")
    assert f"No conversation found with session ID: {reply['session_id']}" in text
    assert len(world.notices()) == 1


@on_both_versions
async def test_an_ambiguous_title_is_refused_with_claudes_own_list(world: World) -> None:
    """R19."""
    ids = [await speak(world, "hello", "--name=twin") for _ in range(2)]
    async with world.daemon():
        text = await world.refused("continue", name="twin", prompt="go on")
    assert "matches 2 sessions" in text
    assert set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", text)) == set(ids)
    assert world.notices() == []


@on_both_versions
async def test_a_session_that_somebody_else_began_goes_on_by_its_title(world: World) -> None:
    elsewhere = world.sandbox.root / "elsewhere"
    elsewhere.mkdir()
    theirs = await speak(world, "hello", "--name=theirs", directory=elsewhere)
    named = world.api.script(say("went on"))
    async with world.daemon():
        await world.refused("continue", name="theirs", prompt=named)
        reply = await world.must("continue", name="theirs", prompt=named, dir=str(elsewhere))
        session = await world.ended("theirs")
    assert (reply["session_id"], session["session_id"]) == (theirs, theirs)
    assert (session["result"], session["dir"]) == ("went on", str(elsewhere))
    assert "hello" in world.api.of(named)[0].user_text


@on_both_versions
async def test_an_older_transcript_of_ours_is_not_cleaned_away(world: World) -> None:
    """R23. A CLI without our settings deletes transcripts of 30 days at its start."""
    async with world.daemon():
        await world.start("lint", world.api.script(say("one")))
        await world.ended("lint")
        [transcript] = world.sandbox.config.glob("projects/*/*.jsonl")
        forty_days_ago = time.time() - 40 * 86400
        os.utime(transcript, (forty_days_ago, forty_days_ago))
        await world.start("other", world.api.script(say("two")))
        await world.ended("other")
        await world.must("continue", name="lint", prompt=world.api.script(say("three")))
        assert (await world.ended("lint"))["result"] == "three"


@on_both_versions
async def test_a_session_that_another_claude_holds_is_not_continued_beside_it(
    world: World,
) -> None:
    """R22. claude itself has no lock, both would append to one transcript."""
    async with world.daemon():
        reply = await world.start("lint", world.api.script(say("one")))
        await world.ended("lint")
        resume = f"--resume={reply['session_id']}"
        async with speaking(world, resume, environment={}) as other:
            await other.send(world.api.script(say("somebody else's turn")))
            await other.results(1)
            text = await world.refused("continue", name="lint", prompt="go on")
            assert str(other.process.pid) in text
        await world.must("continue", name="lint", prompt=world.api.script(say("mine again")))
        assert (await world.ended("lint"))["result"] == "mine again"
    assert [notice["kind"] for notice in world.notices()] == ["finished", "finished"]
