"""No text of the owner becomes a command or a flag of the CLI."""

from __future__ import annotations

import pytest

from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


@on_both_versions
async def test_clear_as_trigger_prompt_and_goal_is_text_for_the_model(world: World) -> None:
    """R30. `/clear` alone answers "" without any call, and 2.1.332 begins another session."""
    async with world.daemon():
        begun = await world.start("slash", "/clear")
        session = await world.ended("slash")
        assert (session["result"], len(world.api.calls)) == ("ok", 1)
        assert world.api.calls[-1].user_text.endswith("\n/clear")

        await world.must("continue", name="slash", prompt="/clear")
        session = await world.ended("slash")
        assert (session["result"], len(world.api.calls)) == ("ok", 2)
        assert world.api.calls[-1].user_text.endswith("\n/clear")

        await world.must("continue", name="slash", prompt="go", goal="/clear", max_turns=2)
        session = await world.ended("slash")
        assert (session["stop_reason"], session["turn"]) == ("turn_cap", 2)
        assert len(world.api.calls) == 4
    assert session["session_id"] == begun["session_id"]
    # the first message of all is still part of the conversation
    assert len(world.api.calls[-1].messages) > len(world.api.calls[0].messages)


async def test_values_that_look_like_flags_stay_values(world: World) -> None:
    """R30."""
    async with world.daemon():
        await world.start("dash", "--help", model="--version")
        session = await world.ended("dash")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "ok")
    assert world.api.calls[-1].body["model"] == "--version"
    assert world.api.calls[-1].user_text.endswith("--help")
