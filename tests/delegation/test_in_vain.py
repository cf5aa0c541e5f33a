"""Children that leave no session: what is told of them, and what their names mean then."""

from __future__ import annotations

import pytest
from support.daemon import Daemon
from support.processes import until
from support.stub import HANG, script, text

from delegation.handing import delegate, over, says, tasks, until_state

STILLBORN = script(text("x"), before_init=[{"stderr": "no luck today\n"}, {"exit": 1}])


async def test_a_child_that_cannot_be_kept_has_failed_and_was_interrupted_by_nobody(
    world: Daemon,
) -> None:
    world.start()
    gate = world.gate()
    does = script({"bash": "perl -e 'sleep 100'"}, before_init=[{"wait_file": str(gate)}])
    reply = await world.must("delegate", tasks=[*tasks(does, name="unkept"), *tasks(says("fine"))])
    # a record cannot take the place of a folder
    (world.state_dir / "names" / "unkept").mkdir()
    gate.touch()
    sessions = await over(world, reply["delegation"])
    notice = await world.notice(reply["delegation"])
    child = notice["children"][0]
    assert (child["end"], child["state"], child["cause"]) == ("failed", "failed", "other")
    assert "names/unkept cannot be written" in child["message"]
    assert "may be half done" in child["message"]
    assert (sessions[0]["state"], sessions[0]["message"]) == ("failed", child["message"])
    assert "interrupted" not in notice["text"]
    assert "nothing was done" not in notice["text"]
    assert "1 finished, 1 failed" in notice["text"]
    assert world.children() == {}


async def test_a_child_in_the_queue_that_is_interrupted_is_taken_from_it(world: Daemon) -> None:
    world.settings = {"max_running": 1}
    world.start()
    delegation = await delegate(world, script(HANG), says("x"))
    await until_state(world, "worker-2", "queued")
    answer = await world.call("interrupt", name="worker-2")
    assert f"taken from the queue of delegation `{delegation}`" in answer.text
    assert "Nothing of it ran" in answer.text
    assert "`start` it anew" in answer.text
    assert "resumes" not in answer.text
    assert answer.data["processes"] == []
    told = (await world.call("status", name="worker-2")).text
    assert "never began" in told
    assert "`start` it anew" in told
    await world.must("interrupt", name=delegation)
    refusal = await world.refused("continue", name="worker-2", prompt=says("x"))
    assert "left no session to continue" in refusal
    notice = await world.notice(delegation)
    assert [child["end"] for child in notice["children"]] == ["cancelled", "cancelled"]
    assert notice["children"][1]["cause"] == "cancelled"


async def test_a_child_that_died_before_its_first_word_is_to_be_started_anew(
    daemon: Daemon,
) -> None:
    reply = await daemon.must("delegate", tasks=tasks(STILLBORN))
    (name,) = reply["names"]
    await over(daemon, reply["delegation"])
    notice = await daemon.notice(reply["delegation"])
    for words in (notice["text"], (await daemon.call("status", name=name)).text):
        assert "no luck today" in words
        assert "There is no session to `continue`" in words
        assert "then `continue` it" not in words
    assert "left no session" in await daemon.refused("continue", name=name, prompt=says("x"))
    assert (await daemon.run(says("anew"), name))["result"] == "anew"


async def test_a_child_that_is_interrupted_before_its_first_word_left_no_session(
    daemon: Daemon,
) -> None:
    delegation = await delegate(daemon, script({"text": "x"}, before_init=[HANG]))
    (session,) = (await daemon.must("status", name=delegation))["sessions"]
    await until(lambda: bool(daemon.children()))
    answer = await daemon.call("interrupt", name=session["name"], force=True)
    assert "there is no session to `continue`: `start` it anew" in answer.text
    assert "left no session" in await daemon.refused("continue", name=session["name"], prompt="x")


@pytest.mark.parametrize("how", ["dies", "is taken from the queue"])
async def test_a_name_that_means_an_earlier_session_again_says_so(world: Daemon, how: str) -> None:
    world.settings = {"max_running": 1}
    world.start()
    earlier = await world.run(says("the earlier one"), "again")
    if how == "dies":
        delegation = (await world.must("delegate", tasks=tasks(STILLBORN, name="again")))[
            "delegation"
        ]
        await over(world, delegation)
    else:
        reply = await world.must(
            "delegate", tasks=[*tasks(script(HANG)), *tasks(says("x"), name="again")]
        )
        delegation = reply["delegation"]
        answer = await world.call("interrupt", name="again")
        assert f"earlier session {earlier['session_id']}" in answer.text
        await world.must("interrupt", name=delegation)
    which = f"earlier session {earlier['session_id']} of `again`"
    looked = await world.call("status", name="again")
    assert looked.data["session_id"] == earlier["session_id"]
    assert which in looked.text
    assert delegation in looked.text
    answer = await world.call("continue", name="again", prompt=says("on"))
    assert which in answer.text
    assert (await world.ended("again"))["session_id"] == earlier["session_id"]
    assert which not in (await world.call("status", name="again")).text


async def test_a_child_that_a_crash_caught_before_it_was_kept_cannot_go_on(world: Daemon) -> None:
    """Issue 9, 34: its notice said that `continue` resumes it, which found nothing."""
    world.start()
    delegation = await delegate(world, script(HANG))
    await until_state(world, "worker-1", "running")
    await until(lambda: len(world.transcripts()) == 1, "claude's file of the session")
    world.kill()
    # as if the crash had come before its record was saved
    (world.state_dir / "names" / "worker-1").unlink()
    (record,) = (world.state_dir / "sessions").glob("*/record.json")
    record.unlink()
    world.start()
    notice = await world.notice(delegation)
    (child,) = notice["children"]
    assert (child["end"], child["cause"]) == ("killed", "daemon_stop")
    assert "what it had begun with may be half done" in notice["text"]
    assert "`start` it anew" in notice["text"]
    assert "`continue` resumes it" not in notice["text"]
    await world.refused("continue", name="worker-1", prompt=says("x"))
