"""What a caller is told is true, and says what to do next (issue 9, part D)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from support.daemon import Daemon
from support.house import House
from support.processes import until
from support.refusals import refused
from support.stub import HANG, bash, goal_reached, script, text

from hive_subagent.messages.launches import notices_go
from hive_subagent.messages.refusals import missed
from hive_subagent.models.session import ProcessInfo, SessionView, State, StopReason
from hive_subagent.sessions.checks import BRIEF_LIMIT
from hive_subagent.sessions.options import Options
from hive_subagent.setting_types import UrlEntry
from hive_subagent.settings import Settings


async def test_a_brief_can_be_given_as_it_is(daemon: Daemon) -> None:
    """Issue 9, 31."""
    name = daemon.name()
    await daemon.must("start", name=name, prompt=script(text("inline")))
    session = await daemon.ended(name)
    assert session["result"] == "inline"
    kept = daemon.state_dir / "sessions" / session["session_id"] / "brief.md"
    assert kept.read_text().startswith(script(text("inline")))


async def test_a_brief_is_given_once(home: House) -> None:
    """Issue 9, 31: both or none is refused in a line."""
    start = home.service.start
    await refused(home, start("a"), "prompt is missing: .* `prompt_file`")
    both = start("a", home.brief(), prompt="x")
    await refused(home, both, "prompt and prompt_file are both given: leave one of them out")
    await refused(home, start("a", prompt=" \n"), "prompt is blank")
    # as in a file: all that some editors leave of an empty text
    await refused(home, start("a", prompt="\ufeff\n"), "prompt is blank")
    large = start("a", prompt="é" * (BRIEF_LIMIT // 2) + "x")
    await refused(home, large, f"prompt is over {BRIEF_LIMIT} bytes: shorten the brief")


def test_what_is_said_of_notices_is_true_for_the_configuration() -> None:
    """Issue 9, 27: no sink is known to reach the model that called."""
    assert "file for the operator" in notices_go(["dir"])
    both = notices_go(["unix", "dir"])
    assert "operator's sinks (unix, dir)" in both
    assert notices_go([]) == "nothing else tells you."
    entries = Settings(
        todo_sinks=["unix:/run/todo.sock", UrlEntry(url="https://hook/x"), "unix:/r"]
    )
    assert entries.sink_kinds == ["unix", "https"], "kinds, and no path"


async def test_whoever_starts_or_continues_is_told_to_wait(daemon: Daemon) -> None:
    """Issue 9, 27."""
    name = daemon.name()
    answers = [await daemon.call("start", name=name, prompt=script(text("x")))]
    await daemon.ended(name)
    answers.append(await daemon.call("continue", name=name, prompt="more"))
    await daemon.ended(name)
    tasks = [{"task": script(text("x")), "role": "worker"}]
    answers.append(await daemon.call("delegate", tasks=tasks))
    await daemon.must("wait", names=[answers[-1].data["delegation"]])
    for answer in answers:
        assert "Call `wait`" in answer.text
        assert "You will be told" not in answer.text
        assert "One notice tells you" not in answer.text


async def test_a_limit_of_turns_without_a_goal_is_refused(home: House) -> None:
    """Issue 9, 34: it was ignored silently."""
    start = home.service.start("a", home.brief(), options=Options(max_turns=3))
    await refused(home, start, "max_turns is for a session with a goal: give a goal too")
    await home.run(script(text("x")), "b")
    await home.notices()
    more = home.service.continue_("b", "go on", options=Options(max_turns=3))
    await refused(home, more, "max_turns is for a session with a goal")


async def test_to_wait_for_nobody_is_refused(daemon: Daemon) -> None:
    """Issue 9, 34: it said that nothing runs while something did."""
    name = await daemon.begin(script(HANG))
    said = await daemon.refused("wait", names=[])
    assert said == "names is empty: name what to wait for, or leave it out to wait for all"
    await daemon.must("interrupt", name=name, force=True)


async def test_a_mistyped_name_gets_those_that_are_near(daemon: Daemon) -> None:
    """Issue 9, 34."""
    await daemon.run(script(text("x")), "lint-frontend")
    near = "(did you mean `lint-frontend`?)"
    assert near in await daemon.refused("intervene", name="lint-fronted", kind="info", text="x")
    for tool in ("status", "interrupt"):
        assert near in await daemon.refused(tool, name="lint-fronted")
    assert near in await daemon.refused("wait", names=["lint-fronted"])
    assert near in await daemon.refused("continue", name="lint-fronted", prompt="go on")
    assert "did you mean" not in await daemon.refused("status", name="quite-different")


async def test_a_mistyped_role_gets_those_that_are_near(daemon: Daemon) -> None:
    """Issue 9, 34."""
    said = await daemon.refused("delegate", tasks=[{"task": "x", "role": "reviewr"}])
    assert said.startswith("task 1: role 'reviewr' is unknown: use one of planner, ")
    assert said.endswith("(did you mean `reviewer`?)")


def view(state: State, reason: StopReason) -> SessionView:
    return SessionView(name="a", session_id="", dir="/", state=state, stop_reason=reason)


@pytest.mark.parametrize(
    ("before", "says"),
    [
        (view(State.KILLED, StopReason.KILLED), "A run that is killed early leaves nothing"),
        (view(State.IDLE, StopReason.TURN_ENDED), "its transcript was removed or moved since"),
        (view(State.IDLE, StopReason.GOAL_REACHED), "its transcript was removed or moved since"),
        (None, "`dir` names the directory the session was started in"),
    ],
)
def test_why_a_session_is_not_there_depends_on_how_it_ended(
    before: SessionView | None, says: str
) -> None:
    """Issue 9, 34: "a run that is killed early" was said of a finished one."""
    said = missed(name="a", words="No conversation", config_dir="/c", directory="/", before=before)
    assert says in said
    assert ("killed" in said) is (before is not None and before.state is State.KILLED)


async def test_what_died_is_told_by_its_command(daemon: Daemon) -> None:
    """Issue 9, 34: it listed claude's argv with the paths of the daemon."""
    name = await daemon.begin(script(bash("perl -e 'sleep 300'")))
    await daemon.in_tool(name)
    answer = await daemon.call("interrupt", name=name, force=True)
    died = [ProcessInfo.model_validate(process) for process in answer.data["processes"]]
    assert any("sleep 300" in process.command for process in died)
    assert "--input-format" not in answer.text
    assert str(daemon.state_dir) not in answer.text


async def test_a_failure_is_told_as_an_error_and_not_as_the_subagents_words(daemon: Daemon) -> None:
    """Issue 9, 34: claude's diagnostics were quoted as the subagent's words."""
    name = await daemon.begin(script(text("x"), {"exit": 1}))
    failed = await daemon.ended(name)
    assert failed["state"] == "failed"
    said = (await daemon.call("status", name=name)).text
    assert f" The error reported:\n> {failed['message']}\n" in said
    assert "It said" not in said
    answer = await daemon.call("continue", name=name, prompt=script(text("y")))
    assert (
        f"Its previous run had failed; the error reported:\n> {failed['message']}\n" in answer.text
    )
    await daemon.ended(name)


async def test_an_intervention_into_a_run_that_never_begins_promises_no_notice(
    daemon: Daemon,
) -> None:
    """Issue 9, 34: none is owed for it."""
    gate, name = daemon.gate(), daemon.name()
    dies = script(before_init=[{"wait_file": str(gate)}, {"exit": 1}])
    told: dict[str, Any] = {}

    async def start() -> None:
        told["start"] = await daemon.call("start", name=name, prompt=dies)

    async def intervene() -> None:
        told["intervene"] = await daemon.call("intervene", name=name, kind="info", text="hello")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(start)
        await until(lambda: any(f"--name={name}" in c for c in daemon.children().values()))
        tasks.start_soon(intervene)
        await until(lambda: "info i-" in daemon.log, "the intervention")
        gate.touch()
    assert told["start"].is_error
    assert told["intervene"].data["state"] == "missed"
    assert told["intervene"].text.endswith("No notice comes.")
    assert daemon.notices(name) == []


async def test_what_has_not_arrived_yet_is_named(daemon: Daemon) -> None:
    """Issue 9, 30: a text is whole by itself, also without the structured content."""
    name = await daemon.begin(script(bash("perl -e 'sleep 300'")))
    await daemon.in_tool(name)
    note = await daemon.must("intervene", name=name, kind="info", text="hello")
    said = (await daemon.call("status", name=name)).text
    assert f"Not arrived yet of your interventions: info {note['id']}." in said
    await daemon.must("interrupt", name=name, force=True)


async def test_each_task_has_the_time_that_it_is_given_or_that_its_role_needs(
    daemon: Daemon,
) -> None:
    """Issue 9, 34: 120 s were too short for a worker."""
    task = script(text("x"))
    reply = await daemon.must(
        "delegate",
        tasks=[
            {"task": task, "role": "scout"},
            {"task": task, "role": "worker"},
            {"task": task, "role": "worker", "timeout_s": 7},
        ],
    )
    assert [child["timeout_s"] for child in reply["children"]] == [120, 1800, 7]
    assert reply["timeout_s"] == 1800
    assert "(scout, 120 s)" in reply["text"]
    await daemon.must("wait", names=[reply["delegation"]])
    tasks = [{"task": task, "role": "scout"}, {"task": task, "role": "scout", "timeout_s": 9}]
    again = await daemon.must("delegate", tasks=tasks, timeout_s=300)
    assert [child["timeout_s"] for child in again["children"]] == [300, 9]
    await daemon.must("wait", names=[again["delegation"]])
    said = await daemon.refused("delegate", tasks=[{"task": "x", "role": "scout", "timeout_s": 0}])
    assert said == "task 1: timeout_s 0.0 is out of range: give seconds above 0"


async def test_the_time_of_a_task_is_held_to(daemon: Daemon) -> None:
    """Issue 9, 34: one child is cut at its own time, its sibling has its role's."""
    gate = daemon.gate()
    reply = await daemon.must(
        "delegate",
        tasks=[
            {"task": script(HANG), "role": "worker", "timeout_s": 0.5},
            {"task": script({"wait_file": str(gate)}, text("y")), "role": "worker"},
        ],
    )
    first, second = reply["names"]
    cut = await daemon.must("wait", names=[first], timeout_s=60)
    assert cut["sessions"][0]["cause"] == "timeout"
    assert (await daemon.must("status", name=second))["state"] in ("starting", "running")
    gate.touch()
    over = await daemon.must("wait", names=[reply["delegation"]], timeout_s=60)
    assert [session["result"] for session in over["sessions"]] == [None, "y"]


async def test_a_turn_that_only_reported_does_not_contradict_itself(daemon: Daemon) -> None:
    """Issue 9, 8: what was reported by a tool is no silence."""
    name = await daemon.begin(script(goal_reached("all done"), text("")), goal="g")
    session = await daemon.ended(name)
    assert (session["message"], session["result"]) == ("all done", "")
    told = (await daemon.call("status", name=name)).text
    assert "It said:\n> all done\n\nIt said nothing beside that." in told


async def test_what_follows_a_quoted_failure_begins_its_line(daemon: Daemon) -> None:
    """Issue 9, 30."""
    name = await daemon.begin(script({"api_error": 400, "message": "no"}))
    await daemon.ended(name)
    told = (await daemon.call("continue", name=name, prompt=script(text("x")))).text
    assert "\n> no\nCall `wait`" in told
    await daemon.ended(name)


async def test_an_owners_stop_in_a_turn_that_goes_on_claims_no_end_of_it(daemon: Daemon) -> None:
    """Issue 9, 34: it said that the turn was at its end, and it had been cut after a step."""
    begun, gate = daemon.gate(), daemon.gate()
    soon = {"bash": "perl -e 'select undef, undef, undef, 0.1'", "background": True}
    steps = [{"touch": str(begun)}, {"tool": "Read", "gate": str(gate)}, text("never said")]
    name = await daemon.begin(script(soon, text("started"), after_background=steps))
    await until(begun.exists, "the turn to be opened again")
    assert (await daemon.in_tool(name))["answers"] == 1
    await daemon.must("intervene", name=name, kind="stop", text="enough")
    gate.touch()
    session = await daemon.ended(name)
    assert (session["stop_reason"], session["result"]) == ("stopped", "started")
    told = (await daemon.call("status", name=name)).text
    assert "Its turn had an answer by then; nothing further was begun." in told
