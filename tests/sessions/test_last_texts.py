"""What a run said last that was stopped, killed or failed; and what it does now."""

from __future__ import annotations

from typing import Any

import pytest
from support.house import House
from support.processes import until
from support.stub import HANG, NEW, OLD, bash, script, text, turns

from hive_subagent.messages.text import LAST_TEXT_LIMIT
from hive_subagent.models.session import State

FIRST, LAST = text("I look at the tests first"), text("Two of them fail:\n> I fix them")
TOOL = bash("exec sleep 100")
TOLD = "The last that it said:\n> Two of them fail:\n> > I fix them"


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize(
    ("last", "state"),
    [
        ({"die": "SIGKILL"}, State.KILLED),
        ({"exit": 1}, State.FAILED),
        ({"api_error": 529}, State.FAILED),
        ({"truncate": 70_000}, State.FAILED),
    ],
    ids=["killed", "died", "API error", "torn"],
)
async def test_what_a_run_said_last_is_told_where_it_gave_no_answer(
    home: House, version: str, last: dict[str, Any], state: State
) -> None:
    """Issue 9, 33: the words that claude makes up for an API error are not the subagent's."""
    view = await home.run(script(FIRST, bash("true"), LAST, last, version=version))
    assert (view.state, view.last_text) == (state, LAST["text"])
    (notice,) = await home.notices()
    assert TOLD in notice["text"]
    assert FIRST["text"] not in notice["text"]


async def test_an_interrupt_in_a_tool_tells_what_was_said_before(home: House) -> None:
    """Issue 9, 33."""
    live = await home.begin(script(FIRST, bash("true"), LAST, TOOL))
    await until(lambda: (tool := live.view().open_tool) is not None and "sleep" in tool.input)
    view, said = await home.service.status("agent")
    assert view.open_tool is not None
    assert (view.open_tool.name, view.open_tool.input) == ("Bash", "exec sleep 100")
    assert "The tool Bash (exec sleep 100) has been open" in said
    _, said = await home.service.interrupt("agent")
    assert TOLD in said
    assert (await home.ended()).last_text == LAST["text"]
    (notice,) = await home.notices()
    assert TOLD in notice["text"]


async def test_what_a_subagents_subagent_said_is_not_its_own_word(home: House) -> None:
    """Issue 9, 33."""
    inner = {"subagent": [text("inner words")], "description": "look", "prompt": "look"}
    view = await home.run(script(LAST, inner, {"die": "SIGKILL"}))
    assert view.last_text == LAST["text"]


async def test_a_goal_run_that_dies_in_silence_tells_the_answer_of_its_turn_before(
    home: House,
) -> None:
    """Issue 9, 33."""
    view = await home.run(
        turns([text("half done")], [{"die": "SIGKILL"}]), goal="be done", max_turns=3
    )
    assert (view.state, view.turn, view.last_text) == (State.KILLED, 2, "half done")


async def test_a_run_that_answered_or_said_nothing_has_no_last_text(home: House) -> None:
    """Issue 9, 33: an answer is told as such, and once."""
    assert (await home.run(script(text("done")))).last_text is None
    view = await home.run(script({"die": "SIGKILL"}), "mute")
    assert view.last_text is None
    _, told = await home.service.status("mute")
    assert "The last that it said" not in told


async def test_a_long_last_text_is_cut_with_a_mark(home: House) -> None:
    """Issue 9, 33."""
    view = await home.run(script({"big_text": 9_000, "of": "é"}, {"die": "SIGKILL"}))
    assert view.last_text is not None
    assert len(view.last_text.encode()) <= LAST_TEXT_LIMIT
    assert view.last_text.endswith("é…")


async def test_a_run_that_hangs_tells_of_its_last_word_once_it_is_interrupted(home: House) -> None:
    """Issue 9, 33."""
    live = await home.begin(script(LAST, HANG))
    assert live.run is not None
    assert live.run.claude is not None
    conversation = live.run.claude.conversation
    # a line of text alone is kept and wakes nobody
    await until(lambda: conversation.last_text != "", "the text")
    await home.service.interrupt("agent", force=True)
    assert (await home.ended()).last_text == LAST["text"]
