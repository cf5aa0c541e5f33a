"""Handing out tasks: what a call answers, what it refuses, and that a child is a session."""

from __future__ import annotations

import json
import re
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from support.daemon import Daemon
from support.processes import until
from support.stub import HANG, bash, script, text

from delegation.handing import delegate, ends, over, says, tasks, until_state, until_there


async def test_three_children_at_once_are_told_in_one_notice(daemon: Daemon) -> None:
    reply = await daemon.must("delegate", tasks=tasks(says("one"), says("two"), says("three")))
    delegation, names = reply["delegation"], reply["names"]
    assert ":" in delegation
    assert len(set(names)) == 3
    assert {child["state"] for child in reply["children"]} <= {"starting", "queued"}
    sessions = await over(daemon, delegation)
    assert [session["result"] for session in sessions] == ["one", "two", "three"]
    assert {session["delegation"] for session in sessions} == {delegation}
    assert {session["role"] for session in sessions} == {"worker"}

    notice = await daemon.notice(delegation)
    assert (notice["kind"], notice["session_id"]) == ("delegation", "")
    assert [child["name"] for child in notice["children"]] == names
    assert [child["result"] for child in notice["children"]] == ["one", "two", "three"]
    assert [child["end"] for child in notice["children"]] == ["finished"] * 3
    assert all(child["cost_usd"] > 0 for child in notice["children"])
    for child in notice["children"]:
        assert f"`{child['name']}` (worker): finished, ${child['cost_usd']:.4f}" in notice["text"]
        assert child["result"] in notice["text"]
        assert daemon.notices(child["name"]) == []


async def test_the_call_returns_before_any_child_has_said_a_word(daemon: Daemon) -> None:
    delegation = await delegate(daemon, script({"text": "x"}, before_init=[HANG]))
    (session,) = (await daemon.must("status", name=delegation))["sessions"]
    assert session["state"] == "starting"
    await daemon.must("interrupt", name=delegation, force=True)


async def test_a_child_gets_its_roles_brief_and_its_task_and_nothing_else(daemon: Daemon) -> None:
    delegation = await delegate(daemon, script({"echo_brief": True}), role="scout")
    (session,) = await over(daemon, delegation)
    assert "You are a scout" in session["result"]
    assert "nobody can be asked" in session["result"]


async def test_a_second_delegation_is_refused_and_names_the_first(daemon: Daemon) -> None:
    delegation = await delegate(daemon, script(HANG))
    refusal = await daemon.refused("delegate", tasks=tasks(says("x")))
    assert delegation in refusal
    await daemon.must("interrupt", name=delegation)
    await over(daemon, await delegate(daemon, says("x")))


REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "no task": ({"tasks": []}, "0 tasks"),
    "too many": ({"tasks": tasks(*["x"] * 33)}, "33 tasks"),
    "an unknown role": ({"tasks": tasks("x", role="boss")}, "'boss'"),
    "a blank task": ({"tasks": [*tasks("x"), *tasks(" \n")]}, "task 2"),
    "a name that is none": ({"tasks": tasks("x", name="-rf")}, "'-rf'"),
    "a name with a colon": ({"tasks": tasks("x", name="d:1")}, "'d:1'"),
    "a name twice": ({"tasks": tasks("x", "y", name="twin")}, "`twin`"),
    "a directory that is not there": ({"tasks": tasks("x", dir="nowhere")}, "nowhere"),
    "no time": ({"tasks": tasks("x"), "timeout_s": 0}, "timeout_s"),
    "a policy that is none": ({"tasks": tasks("x"), "wait_policy": "any"}, "wait_policy"),
    "a field that is none": ({"tasks": tasks("x", permission_mode="root")}, "permission_mode"),
    "a task without a role": ({"tasks": [{"task": "x"}]}, "role"),
}


@pytest.mark.parametrize("fault", REFUSALS)
async def test_a_call_that_cannot_be_carried_out_changes_nothing(
    daemon: Daemon, fault: str
) -> None:
    arguments, culprit = REFUSALS[fault]
    # a notice of the test before may still be on its way
    await until(lambda: daemon.owed() == [], "its delivery")
    kept = sorted(path.name for path in daemon.state_dir.glob("*/*"))
    assert culprit in await daemon.refused("delegate", **arguments)
    assert sorted(path.name for path in daemon.state_dir.glob("*/*")) == kept
    assert daemon.owed() == []


async def test_a_name_that_runs_or_waits_is_refused(world: Daemon) -> None:
    world.settings = {"max_running": 1}
    world.start()
    await world.begin(script(HANG), "taken")
    assert "`taken`" in await world.refused("delegate", tasks=tasks("x", name="taken"))
    delegation = await delegate(world, says("x"))
    assert "worker-1" in await world.refused("start", name="worker-1", prompt_file=world.brief())
    assert "worker-1" in await world.refused("continue", name="worker-1", prompt="x")
    await world.must("interrupt", name="taken")
    await over(world, delegation)


async def test_names_are_given_that_no_session_had_before(daemon: Daemon) -> None:
    first = await daemon.must("delegate", tasks=tasks(says("x"), says("y"), role="planner"))
    await over(daemon, first["delegation"])
    second = await daemon.must(
        "delegate",
        tasks=[*tasks(says("z"), role="planner", name="planner-3"), *tasks("z", role="planner")],
    )
    await over(daemon, second["delegation"])
    assert first["names"] == ["planner-1", "planner-2"]
    assert second["names"] == ["planner-3", "planner-4"]


async def test_names_are_given_that_none_in_the_same_call_asks_for(daemon: Daemon) -> None:
    reply = await daemon.must(
        "delegate",
        tasks=[*tasks(says("x"), role="reviewer"), *tasks("y", role="scout", name="reviewer-1")],
    )
    assert reply["names"] == ["reviewer-2", "reviewer-1"]
    await over(daemon, reply["delegation"])


async def test_a_finished_session_of_a_name_that_was_asked_for_is_archived(daemon: Daemon) -> None:
    before = (await daemon.run(says("before"), "again"))["session_id"]
    delegation = (await daemon.must("delegate", tasks=tasks(says("after"), name="again")))[
        "delegation"
    ]
    (session,) = await over(daemon, delegation)
    archived = [p.name for p in daemon.claude_dir.glob("projects/*/*.archived")]
    assert f"{before}.jsonl.archived" in archived
    assert not any(name.startswith(session["session_id"]) for name in archived)


async def test_a_child_goes_on_as_an_ordinary_session_with_a_notice_of_its_own(
    daemon: Daemon,
) -> None:
    reply = await daemon.must("delegate", tasks=tasks(says("one"), name="goes-on"))
    await over(daemon, reply["delegation"])
    await daemon.must("continue", name="goes-on", prompt=says("two"))
    session = await daemon.ended("goes-on")
    assert (session["result"], session["delegation"], session["role"]) == ("two", None, "worker")
    notice = await daemon.notice("goes-on")
    assert notice["kind"] == "finished"
    assert "children" not in notice


async def test_a_child_can_be_intervened_in_by_its_name(daemon: Daemon) -> None:
    gate = daemon.gate()
    does = script({"tool": "Look", "gate": str(gate), "result": "seen"}, {"echo_seen": True})
    reply = await daemon.must("delegate", tasks=tasks(does, name="steered"))
    await daemon.in_tool("steered")
    await daemon.must("intervene", name="steered", kind="redirect", text="go left")
    gate.touch()
    (session,) = await over(daemon, reply["delegation"])
    assert "go left" in session["result"]


async def test_an_answer_is_cut_on_a_character_and_the_whole_is_named(daemon: Daemon) -> None:
    delegation = await delegate(daemon, script({"big_text": 5000, "of": "é"}))
    await over(daemon, delegation)
    (child,) = (notice := await daemon.notice(delegation))["children"]
    assert child["result"] == "é" * 4000
    assert child["result_cut"]
    assert child["result_file"] in notice["text"]
    assert await anyio.Path(child["result_file"]).read_text() == "é" * 5000 + "\n"
    whole = (await anyio.Path(child["transcript"]).read_text()).splitlines()
    assert any("é" * 5000 in json.loads(line).get("message", {}).__str__() for line in whole)


async def test_an_answer_that_just_fits_is_not_called_cut(daemon: Daemon) -> None:
    delegation = await delegate(daemon, script({"big_text": 8000}))
    await over(daemon, delegation)
    (child,) = (notice := await daemon.notice(delegation))["children"]
    assert (len(child["result"]), child["result_cut"]) == (8000, False)
    assert "is cut" not in notice["text"]


async def test_a_child_that_dies_before_its_first_word_has_failed_with_claudes_words(
    daemon: Daemon,
) -> None:
    dies = script(text("x"), before_init=[{"stderr": "no luck today\n"}, {"exit": 1}])
    reply = await daemon.must("delegate", tasks=tasks(dies, says("fine")))
    found = await ends(daemon, reply["delegation"])
    assert list(found.values()) == ["failed", "finished"]
    notice = await daemon.notice(reply["delegation"])
    assert "no luck today" in notice["children"][0]["message"]
    session = await daemon.must("status", name=reply["names"][0])
    assert session["state"] == "failed"
    assert "no luck today" in session["message"]


async def test_a_quiet_child_in_a_long_tool_is_let_be_and_its_tool_is_told(daemon: Daemon) -> None:
    """R9."""
    gate = daemon.gate()
    waits = bash(f"while [ ! -e {gate} ]; do read -t 0.05 < <(:) || true; done; echo built")
    reply = await daemon.must("delegate", tasks=tasks(script(waits, text("done")), name="builds"))
    session = await daemon.in_tool("builds")
    assert session["open_tool"]["name"] == "Bash"
    # a good while in which nothing is said
    assert not (await daemon.must("wait", names=["builds"], timeout_s=1.5))["done"]
    assert (await daemon.must("status", name="builds"))["state"] == "running"
    gate.touch()
    assert await ends(daemon, reply["delegation"]) == {"builds": "finished"}


async def test_a_refusal_of_the_api_shows_in_the_state_of_the_child_it_met(daemon: Daemon) -> None:
    """R32."""
    gate = daemon.gate()
    refused = script({"api_retry": 3, "status": 429}, {"wait_file": str(gate)}, text("recovered"))
    reply = await daemon.must("delegate", tasks=tasks(refused, says("fine"), name=None))
    name = reply["names"][0]
    waits = await until_there(daemon, name, "api_retry")
    assert (waits["attempt"], waits["max_retries"], waits["status"]) == (3, 10, 429)
    assert 0 <= waits["next_try_s"] <= 2
    assert "attempt 3 of 10" in (await daemon.call("status", name=name)).data["text"]
    gate.touch()
    assert set((await ends(daemon, reply["delegation"])).values()) == {"finished"}


async def test_what_the_others_did_stands_when_the_api_refuses_one_child(daemon: Daemon) -> None:
    """R32."""
    reply = await daemon.must(
        "delegate", tasks=tasks(says("one"), script({"api_error": 429}), says("three"))
    )
    assert list((await ends(daemon, reply["delegation"])).values()) == [
        "finished",
        "failed",
        "finished",
    ]
    notice = await daemon.notice(reply["delegation"])
    assert [child["result"] for child in notice["children"]] == ["one", None, "three"]
    assert "429" in notice["children"][1]["message"]
    assert re.search(r"2 finished, 1 failed", notice["text"])


async def test_wait_takes_names_and_delegations_together(daemon: Daemon) -> None:
    gate = daemon.gate()
    plain = await daemon.begin(script({"wait_file": str(gate)}, text("plain")))
    delegation = await delegate(daemon, says("one"), says("two"))
    reply = await daemon.must("wait", names=[plain, delegation], until="any", timeout_s=30)
    assert reply["done"]
    assert [session["state"] for session in reply["sessions"]] == ["running", "idle", "idle"]
    gate.touch()
    reply = await daemon.must("wait", names=[plain, delegation], timeout_s=30)
    assert [session["result"] for session in reply["sessions"]] == ["plain", "one", "two"]


@pytest.mark.parametrize("tool", ["wait", "interrupt", "status"])
async def test_an_unknown_delegation_is_said_to_be_unknown(daemon: Daemon, tool: str) -> None:
    given = {"names": ["d:nothing"]} if tool == "wait" else {"name": "d:nothing"}
    refusal = await daemon.refused(tool, **given)
    assert "`d:nothing`" in refusal
    assert "was told" not in refusal, "perhaps it never was"


async def test_no_session_can_be_begun_under_a_delegations_id(daemon: Daemon) -> None:
    for tool, further in (
        ("start", {"prompt_file": daemon.brief()}),
        ("continue", {"prompt": "x"}),
    ):
        assert "not usable" in await daemon.refused(tool, name="d:1234", **further)
    assert "not usable" in await daemon.refused("intervene", name="d:1234", kind="info", text="x")


async def test_a_daemon_that_may_not_delegate_says_so(world: Daemon) -> None:
    world.settings = {"max_depth": 0}
    world.start()
    assert "max_depth" in await world.refused("delegate", tasks=tasks(says("x")))


async def test_a_child_in_the_queue_says_that_it_waits(world: Daemon) -> None:
    world.settings = {"max_running": 1}
    world.start()
    gate = world.gate()
    delegation = await delegate(world, script({"wait_file": str(gate)}), says("x"))
    session = await until_state(world, "worker-2", "queued")
    assert session["last_event_age_s"] is None
    assert delegation in (await world.call("status", name="worker-2")).data["text"]
    everything = (await world.must("status"))["sessions"]
    assert [one["name"] for one in everything] == ["worker-1", "worker-2"]
    refusal = await world.refused("intervene", name="worker-2", kind="info", text="x")
    assert "`worker-2` waits in the queue" in refusal
    gate.touch()
    assert await ends(world, delegation) == {"worker-1": "finished", "worker-2": "finished"}
