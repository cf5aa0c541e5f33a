"""A turn with background work is not over when it has an answer."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from support.house import House
from support.processes import until
from support.stub import NEW, OLD, Step, script, text, turns

from hive_subagent.claude.process import RunningClaude
from hive_subagent.errors import Refused
from hive_subagent.models.session import Cause, SessionView, State, StopReason
from hive_subagent.sessions.lifecycle import LiveSession
from hive_subagent.sessions.options import Options

BOTH = pytest.mark.parametrize("version", [NEW, OLD])
LONG: Step = {"bash": "perl -e 'sleep 300'; true", "background": True, "description": "a server"}


def until_there(file: Path, **more: str) -> Step:
    """A command in the background that goes on until a file exists."""
    pause = "perl -e 'select undef, undef, undef, 0.02'"
    return {"bash": f"until [ -e {file} ]; do {pause}; done", "background": True, **more}


async def held(live: LiveSession) -> SessionView:
    """The session once its turn has an answer and background work goes on."""
    await until(lambda: bool(live.view().answers and live.view().background), "a turn that is held")
    return live.view()


@BOTH
async def test_the_run_goes_on_until_its_background_work_has_ended(
    home: House, version: str
) -> None:
    """Issue 9, 1: it was ended after `exit_grace_s`, and said to have finished."""
    gate = home.gate()
    live = await home.begin(
        script(
            until_there(gate, description="build it"),
            text("started"),
            after_background=[text("built")],
            version=version,
        )
    )
    view = await held(live)
    assert view.state is State.RUNNING
    assert [(task.kind, task.description) for task in view.background] == [("shell", "build it")]
    _, told = await home.service.status("agent")
    assert "open in the background: shell (build it), for 0 s" in told
    with anyio.move_on_after(3 * home.settings.exit_grace_s) as waited:
        await live.over.wait()
    assert waited.cancelled_caught
    gate.touch()
    ended = await home.ended()
    assert (ended.stop_reason, ended.result) == (StopReason.TURN_ENDED, "started\n\nbuilt")
    assert ended.ended_background == []
    await home.notices()


@BOTH
async def test_no_turn_of_a_goal_begins_meanwhile(home: House, version: str) -> None:
    """Issue 9, 1."""
    gate = home.gate()
    live = await home.begin(
        turns(
            [until_there(gate), text("one")],
            [text("two")],
            after_background=[text("told")],
            version=version,
        ),
        goal="g",
        max_turns=2,
    )
    await held(live)
    with anyio.move_on_after(0.5):
        await live.over.wait()
    assert live.view().turn == 1
    gate.touch()
    view = await home.ended()
    assert (view.turn, view.stop_reason, view.result) == (2, StopReason.TURN_CAP, "two")


@BOTH
@pytest.mark.parametrize("wait_s", [0, 0.4])
async def test_at_the_limit_the_work_is_ended_and_the_answer_stands(
    home: House, version: str, wait_s: float
) -> None:
    """Issue 9, 1."""
    view = await home.run(
        script(LONG, text("it serves"), version=version), background_wait_s=wait_s
    )
    assert (view.stop_reason, view.result) == (StopReason.TURN_ENDED, "it serves")
    assert [(t.kind, t.description) for t in view.ended_background] == [("shell", "a server")]
    (notice,) = await home.notices()
    assert notice["kind"] == "finished"
    assert "Ended with it, not finished, in the background: shell (a server)" in notice["text"]
    status, told = await home.service.status("agent")
    assert status == view
    assert "shell (a server)" in told


async def test_the_limit_is_the_sessions_own_from_then_on(home: House) -> None:
    """Issue 9, 1."""
    assert home.settings.background_wait_s == 1800
    assert (await home.run(script(text("x")), background_wait_s=7)).background_wait_s == 7
    await home.service.continue_("agent", script(text("y")))
    assert (await home.ended()).background_wait_s == 7
    with pytest.raises(Refused, match="background_wait_s -1 is out of range"):
        await home.service.continue_("agent", "x", options=Options(background_wait_s=-1))


@BOTH
async def test_an_interrupt_meanwhile_cuts_the_turn_and_says_what_it_ended(
    home: House, version: str
) -> None:
    """Issue 9, 1: what had been answered is told as well."""
    live = await home.begin(script(LONG, text("it serves"), version=version))
    await held(live)
    await home.service.interrupt("agent")
    view = await home.ended()
    assert (view.state, view.cause, view.result) == (State.KILLED, Cause.INTERRUPT, "it serves")
    assert [task.description for task in view.ended_background] == ["a server"]
    (notice,) = await home.notices()
    assert notice["kind"] == "killed"
    assert "shell (a server)" in notice["text"]


async def test_the_time_of_a_turn_covers_its_background_work(home: House) -> None:
    """Issue 9, 1."""
    view = await home.run(script(LONG, text("it serves")), turn_timeout_s=2.0)
    assert (view.state, view.cause, view.result) == (State.KILLED, Cause.TIMEOUT, "it serves")
    assert [task.description for task in view.ended_background] == ["a server"]


async def test_a_signal_from_outside_meanwhile_kills_the_run(home: House) -> None:
    """Issue 9, 1: a turn that is not over has not finished."""
    live = await home.begin(script(LONG, text("it serves")))
    await held(live)
    assert live.run is not None
    assert live.run.claude is not None
    await anyio.run_process(["kill", "-KILL", str(live.run.claude.pid)])
    view = await home.ended()
    assert (view.state, view.signal, view.result) == (State.KILLED, "SIGKILL", "it serves")
    assert [task.description for task in view.ended_background] == ["a server"]


async def test_output_that_ends_before_the_process_leaves_the_signal_known(home: House) -> None:
    """Issue 9, 1: the kernel closes the pipes of what it kills before the exit can be seen."""
    gate = home.gate()
    died = [{"close_stdout": True}, {"sleep": 0.05}, {"die": "SIGKILL"}]
    steps = script(LONG, until_there(gate), text("it serves"), after_background=died)
    live = await home.begin(steps)
    await held(live)
    gate.touch()
    view = await home.ended()
    assert (view.state, view.signal, view.result) == (State.KILLED, "SIGKILL", "it serves")


async def test_a_failure_is_told_at_once_whatever_goes_on_beside_it(home: House) -> None:
    """Issue 9, 1: claude itself waits for no task then."""
    view = await home.run(script(LONG, {"api_error": 400}))
    assert view.state is State.FAILED
    assert [task.description for task in view.ended_background] == ["a server"]


async def test_a_turn_that_fails_once_its_work_has_ended_has_failed(home: House) -> None:
    """Issue 9, 1: what it started was never reported."""
    view = await home.run(
        script(
            {"bash": "true", "background": True},
            text("started"),
            after_background=[{"api_error": 400}],
        )
    )
    assert (view.state, view.result) == (State.FAILED, "started")


async def test_a_goal_that_is_reached_ends_the_run_once_its_work_has_ended(home: House) -> None:
    """Issue 9, 1."""
    gate = home.gate()
    live = await home.begin(
        script(until_there(gate), text("one"), after_background=[text("two")]), goal="g"
    )
    await held(live)
    assert live.run is not None
    live.run.signals.report_goal("done")
    gate.touch()
    view = await home.ended()
    assert (view.stop_reason, view.turn, view.result) == (StopReason.GOAL_REACHED, 1, "one\n\ntwo")


async def test_an_agent_in_the_background_holds_the_run(home: House) -> None:
    """Issue 9, 1: so it is by default in 2.1.332."""
    gate = home.gate()
    agent: Step = {"subagent": [text("inner")], "description": "look", "gate": str(gate)}
    live = await home.begin(script(agent, text("sent"), after_background=[text("it is there")]))
    view = await held(live)
    assert [(task.kind, task.description) for task in view.background] == [("agent", "look")]
    gate.touch()
    assert (await home.ended()).result == "sent\n\nit is there"


async def test_what_a_watch_sees_is_answered_each_time(home: House) -> None:
    """Issue 9, 2."""
    watch: Step = {"monitor": "echo one; read -t 0.5 x <> <(:); echo two; read -t 0.5 x <> <(:)"}
    after = [[text("saw 1")], [text("saw 2")], [text("over")]]
    view = await home.run(script(watch, text("watching"), after_background=after))
    assert view.result == "watching\n\nsaw 1\n\nsaw 2\n\nover"
    assert view.answers == 4


async def test_the_model_can_end_its_background_work_itself(home: House) -> None:
    """Issue 9, 1: nothing is waited for then, and nothing was ended with the run."""
    view = await home.run(script(LONG, {"stop_task": True}, text("done")))
    assert (view.result, view.ended_background) == ("done", [])


async def test_a_session_whose_background_work_was_cut_goes_on(home: House) -> None:
    """Issue 9, 1: 2.1.332 gives an empty result first, which answers nothing."""
    live = await home.begin(script(LONG, text("it serves")))
    await held(live)
    await home.service.interrupt("agent")
    await home.service.continue_("agent", script(text("back")))
    view = await home.ended()
    assert (view.stop_reason, view.result) == (StopReason.TURN_ENDED, "back")


def ends_soon() -> Step:
    return {"bash": "perl -e 'select undef, undef, undef, 0.1'", "background": True}


@BOTH
@pytest.mark.parametrize("code", [0, 3])
async def test_an_exit_while_background_work_is_answered_is_no_end_of_the_turn(
    home: House, version: str, code: int
) -> None:
    """Issue 9, 1: it was said to have finished, with what it had answered before."""
    view = await home.run(
        script(
            ends_soon(),
            text("started"),
            after_background=[text("half of it"), {"exit": code}],
            version=version,
        )
    )
    assert (view.state, view.result) == (State.FAILED, "started")
    assert view.message == f"claude exited with {code} before its turn was over"
    assert view.last_text == "half of it"
    (notice,) = await home.notices()
    assert notice["kind"] == "failed"


@pytest.mark.parametrize("output_first", [True, False])
async def test_a_signal_kills_a_turn_that_goes_on_however_its_end_is_seen(
    home: House, monkeypatch: pytest.MonkeyPatch, output_first: bool
) -> None:
    """Issue 9, 1: it had finished wherever the end of the output came before the exit."""
    seen = RunningClaude._on_exit
    if output_first:

        def after_the_output(claude: RunningClaude) -> None:
            if claude.over:
                seen(claude)

        monkeypatch.setattr(RunningClaude, "_on_exit", after_the_output)
    view = await home.run(
        script(ends_soon(), text("started"), after_background=[{"die": "SIGTERM"}])
    )
    assert (view.state, view.signal, view.result) == (State.KILLED, "SIGTERM", "started")
    assert (await home.notices())[0]["kind"] == "killed"
