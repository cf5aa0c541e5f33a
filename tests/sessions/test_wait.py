"""Waiting: for all, for any, for a time; with signs of life, and never in a run's way."""

from __future__ import annotations

import asyncio
from typing import Literal

import anyio
import pytest
from support.house import House
from support.processes import until as until_true
from support.stub import HANG, script, text

from hive_subagent.errors import Refused
from hive_subagent.models.replies import WaitReply
from hive_subagent.sessions import status


async def wait(
    home: House,
    names: list[str] | None = None,
    *,
    until: Literal["all", "any"] = "all",
    timeout_s: float = 60,
) -> tuple[WaitReply, str]:
    async def progress(waited_s: float, running: int) -> None:
        assert waited_s >= 0
        assert running >= 0

    return await home.service.wait(names, until=until, timeout_s=timeout_s, progress=progress)


async def gated(home: House, name: str) -> anyio.Path:
    gate = home.gate()
    await home.begin(script({"wait_file": str(gate)}, text(f"{name} is done")), name)
    return anyio.Path(gate)


async def test_all_waits_for_the_last_and_any_for_the_first(home: House) -> None:
    one, two = await gated(home, "one"), await gated(home, "two")
    for_any = asyncio.ensure_future(wait(home, ["one", "two"], until="any"))
    for_all = asyncio.ensure_future(wait(home))
    await one.touch()

    reply, said = await for_any
    assert reply.done
    assert [(view.name, view.state) for view in reply.sessions] == [
        ("one", "idle"),
        ("two", "running"),
    ]
    assert reply.sessions[0].result == "one is done"
    assert "`one` finished its turn" in said
    assert "`two` is running" in said
    assert not for_all.done()

    await two.touch()
    reply, said = await for_all
    assert reply.done
    assert [view.result for view in reply.sessions] == ["one is done", "two is done"]


async def test_what_has_ended_already_ends_a_wait_at_once(home: House) -> None:
    await home.run(script(text("x")), "done")
    gate = await gated(home, "one")
    reply, _ = await wait(home, ["one", "done"], until="any", timeout_s=3600)
    assert reply.done
    reply, _ = await wait(home, ["done"], timeout_s=3600)
    assert (reply.done, reply.sessions[0].result) == (True, "x")
    await gate.touch()
    await home.ended("one")


async def test_a_wait_whose_time_is_up_says_so_and_ends_nothing(home: House) -> None:
    """R8."""
    gate = await gated(home, "one")
    for timeout_s in (0, 0.05):
        reply, said = await wait(home, timeout_s=timeout_s)
        assert not reply.done
        assert reply.sessions[0].state == "running"
        assert "Not ended yet" in said
    await gate.touch()
    assert (await home.ended("one")).result == "one is done"


async def test_with_nothing_running_there_is_nothing_to_wait_for(home: House) -> None:
    reply, said = await wait(home, timeout_s=3600)
    assert (reply.done, reply.sessions) == (True, [])
    assert "Nothing is running" in said


async def test_a_name_that_nothing_is_known_of_is_refused(home: House) -> None:
    with pytest.raises(Refused, match="nothing is known of a subagent `nobody`"):
        await wait(home, ["nobody"])
    with pytest.raises(Refused, match="name '-x' is not usable"):
        await wait(home, ["-x"])


@pytest.mark.parametrize("timeout_s", [-1, float("nan"), float("inf")])
async def test_an_impossible_time_is_refused(home: House, timeout_s: float) -> None:
    with pytest.raises(Refused, match=r"timeout_s .* is out of range"):
        await wait(home, timeout_s=timeout_s)


async def test_progress_comes_while_runs_go_on(
    home: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert status.PROGRESS_S <= 25, "clients give up after 300 s, parents look sooner"
    monkeypatch.setattr(status, "PROGRESS_S", 0.02)
    gate = await gated(home, "one")
    told: list[tuple[float, int]] = []

    async def progress(waited_s: float, running: int) -> None:
        told.append((waited_s, running))
        if len(told) == 3:
            await gate.touch()

    reply, _ = await home.service.wait(None, until="all", timeout_s=60, progress=progress)

    assert reply.done
    assert len(told) >= 3
    assert [running for _, running in told[:3]] == [1, 1, 1]
    assert told == sorted(told, key=lambda pair: pair[0])


async def test_a_client_that_hangs_up_ends_its_wait_and_no_run(home: House) -> None:
    """R12."""
    gate = await gated(home, "one")
    waits = asyncio.ensure_future(wait(home, timeout_s=3600))
    await asyncio.sleep(0)
    waits.cancel()
    await asyncio.wait([waits])
    await gate.touch()
    assert (await home.ended("one")).result == "one is done"


@pytest.mark.parametrize("call", ["start", "continue"])
async def test_a_client_that_hangs_up_while_its_run_starts_ends_nothing(
    home: House, call: str
) -> None:
    """R12: the run was not seen to die, so it owes its notice."""
    await home.run(script(text("x")))
    gate = home.gate()
    says = script(text("done"), before_init=[{"wait_file": str(gate)}])
    if call == "start":
        work = home.service.start("agent", home.brief(says))
    else:
        work = home.service.continue_("agent", says)
    called = asyncio.ensure_future(work)
    live = home.executor.registry
    await until_true(lambda: live.running("agent") is not None)
    called.cancel()
    await asyncio.wait([called])
    gate.touch()
    assert (await home.ended()).result == "done"
    assert len(await home.notices(2)) == 2


async def test_a_wait_survives_the_stop_with_a_plain_answer(home: House) -> None:
    await home.begin(script(HANG), "one")
    waits = asyncio.ensure_future(wait(home, timeout_s=3600))
    await asyncio.sleep(0)

    await home.service.close()

    with anyio.fail_after(20):
        reply, said = await waits
    assert reply.done
    assert reply.sessions[0].cause == "daemon_stop"
    assert said.startswith("The daemon is stopping and ends its subagents.")
    for refused in (
        home.service.start("two", home.brief()),
        home.service.continue_("one", "go on"),
    ):
        with pytest.raises(Refused, match="the daemon is stopping"):
            await refused


async def test_a_wait_tells_of_the_run_it_waited_for_even_if_another_began(home: House) -> None:
    gate = await gated(home, "one")
    waits = asyncio.ensure_future(wait(home, ["one"], timeout_s=3600))
    await gate.touch()
    await home.ended("one")
    await home.service.continue_("one", script(HANG))
    reply, _ = await waits
    assert (reply.done, reply.sessions[0].result) == (True, "one is done")
    await home.service.interrupt("one")
