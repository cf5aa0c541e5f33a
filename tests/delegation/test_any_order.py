"""Whole delegations in which anything ends in any order: one notice, and nobody forgotten."""

from __future__ import annotations

import random
from typing import Any

import anyio
import pytest
from support.daemon import Daemon
from support.stub import HANG, bash, script, text

from delegation.handing import says, tasks

DOES = {
    "finishes": says("done"),
    "takes a while": script({"sleep": 0.2}, text("done")),
    "fails": script({"api_error": 429}),
    "dies": script({"die": "SIGKILL"}),
    "dies early": script(text("x"), before_init=[{"exit": 1}]),
    "hangs": script(HANG),
    "hangs in a tool": script(bash("perl -e 'sleep 100'")),
}
MAY_END = {
    "finishes": {"finished", "cancelled", "killed", "timed_out"},
    "takes a while": {"finished", "cancelled", "killed", "timed_out"},
    "fails": {"failed", "cancelled", "killed", "timed_out"},
    "dies": {"killed", "cancelled", "timed_out"},
    "dies early": {"failed", "cancelled", "killed"},
    "hangs": {"timed_out", "cancelled", "killed"},
    "hangs in a tool": {"timed_out", "cancelled", "killed"},
}
LIMIT = 3


@pytest.fixture(scope="module")
async def small(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A daemon that runs three at once."""
    made = Daemon(tmp_path_factory.mktemp("small"), settings={"max_running": LIMIT})
    made.start()
    yield made
    assert made.stop() == 0, made.log
    assert made.children() == {}
    assert "Traceback" not in made.log, made.log


@pytest.mark.parametrize("seed", range(8))
async def test_each_child_is_told_once_whatever_happens(small: Daemon, seed: int) -> None:
    chance = random.Random(seed)
    kinds = [chance.choice(list(DOES)) for _ in range(chance.randint(1, 8))]
    reply = await small.must(
        "delegate",
        tasks=tasks(*(DOES[kind] for kind in kinds)),
        wait_policy=chance.choice(["all", "fail_fast"]),
        timeout_s=chance.choice([1.0, 2.0]),
    )
    delegation, names = reply["delegation"], reply["names"]
    most = 0
    async with anyio.create_task_group() as group:
        if chance.random() < 0.6:
            target = chance.choice([delegation, *names])
            after, force = chance.uniform(0, 1.0), chance.random() < 0.5
            group.start_soon(_interrupt, small, target, after, force)
        done = False
        while not done:
            waited = await small.must("wait", names=[delegation], timeout_s=0.1)
            done = waited["done"]
            states = [session["state"] for session in waited["sessions"]]
            most = max(most, sum(state in ("starting", "running") for state in states))
    assert most <= LIMIT
    assert small.children() == {}
    notice = await small.notice(delegation)
    assert [child["name"] for child in notice["children"]] == names
    for kind, child in zip(kinds, notice["children"], strict=True):
        assert child["end"] in MAY_END[kind], (kind, child)
        # one that is cut while its last line is on its way has its answer all the same
        cut = child["end"] in ("cancelled", "killed", "timed_out")
        assert child["result"] == ("done" if child["end"] == "finished" else None) or cut
        assert small.notices(child["name"]) == []
        session = await small.must("status", name=child["name"])
        assert (session["state"], session["cause"]) == (child["state"], child["cause"])


async def _interrupt(daemon: Daemon, target: str, after_s: float, force: bool) -> None:
    # at a time that chance has chosen; the target may be over by then
    await anyio.sleep(after_s)
    await daemon.call("interrupt", name=target, force=force)
