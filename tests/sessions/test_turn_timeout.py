"""The stated limit of a turn: off unless asked for, ended by the ladder, told as what it is."""

from __future__ import annotations

import pytest
from support.house import House, house
from support.processes import is_alive, until
from support.stub import HANG, bash, script, text, turns

from hive_subagent.models.session import Cause, SessionView, State
from hive_subagent.sessions.options import Options

from .conftest import Housing

SLEEP = bash("perl -e 'sleep 100'")


@pytest.fixture
def housing() -> Housing:
    return house


def assert_timed_out(view: SessionView, *, signal: str | None) -> None:
    assert (view.state, view.cause) == (State.KILLED, Cause.TIMEOUT)
    assert view.signal == signal


async def test_a_turn_over_its_time_is_asked_to_stop_first(home: House) -> None:
    """R13: the ladder, not a kill."""
    live = await home.begin(script(SLEEP), turn_timeout_s=3.0)
    await until(lambda: live.view().open_tool is not None, "a tool")
    await until(lambda: len(home.left_behind()) >= 2, "claude and its tool")
    tools = list(home.left_behind())
    assert_timed_out(await home.ended(), signal=None)
    assert not any(map(is_alive, tools))
    (notice,) = await home.notices()
    assert notice["kind"] == "killed"
    assert "(its turn took longer than the 3 s that it was given; ended)" in notice["text"]
    assert "`continue` resumes it" in notice["text"]


async def test_one_that_is_deaf_is_ended_by_force(home: House) -> None:
    await home.begin(script(text("x"), {"hang_deaf": True}), turn_timeout_s=0.2)
    assert_timed_out(await home.ended(), signal="SIGKILL")
    (notice,) = await home.notices()
    assert "took longer than the 0.2 s that it was given; ended by SIGKILL" in notice["text"]


async def test_the_time_counts_for_each_turn_anew(home: House) -> None:
    """Two turns together take longer than one may."""
    work = {"sleep": 2.1}
    view = await home.run(
        turns([work, text("half")], [work, text("whole")]),
        goal="g",
        max_turns=2,
        turn_timeout_s=4.0,
    )
    assert (view.cause, view.turn, view.result) == (None, 2, "whole")


async def test_a_later_turn_of_a_goal_is_bounded_as_the_first_is(home: House) -> None:
    """R14: and none follows."""
    view = await home.run(turns([text("half")], [HANG]), goal="g", max_turns=9, turn_timeout_s=3.0)
    assert_timed_out(view, signal=None)
    assert view.turn == 2


async def test_a_session_keeps_its_time_and_a_call_can_change_it(home: House) -> None:
    await home.run(script(text("x")))
    for options in (Options(turn_timeout_s=0.5), Options()):
        await home.service.continue_("agent", script(HANG), options=options)
        assert_timed_out(await home.ended(), signal=None)
    gate = home.gate()
    waits = script({"wait_file": str(gate)}, text("in time"))
    await home.service.continue_("agent", waits, options=Options(turn_timeout_s=600))
    live = home.executor.registry.running("agent")
    assert live is not None
    await until(lambda: (live.view().last_event_age_s or 0) > 0.6, "more than half a second")
    gate.touch()
    assert (await home.ended()).result == "in time"


async def test_the_operators_time_holds_where_a_call_gives_none(
    housing: Housing, anyio_backend: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with housing(tmp_path_factory.mktemp("house"), turn_timeout_s=0.3) as home:
        assert_timed_out(await home.run(script(HANG)), signal=None)
