"""Random runs of the real CLI through the daemon, offline: `python -m e2e.random_runs --runs 200`.

Exit status 0: nothing was wrong; 1: something was, a line for each; 69: no CLI to be had here.
The same seed draws the same runs; timing stays random.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import anyio

from e2e import install, processes
from e2e.fake_api import Call, serve
from e2e.install import CURRENT, OLDER
from e2e.random_judge import Seen, Served, judge
from e2e.random_plans import Drawing, Plan
from e2e.sandbox import Sandbox
from e2e.script import Say
from e2e.world import World

OLDER_SHARE = 0.3
NOTICE_S, ENDED_S = 15.0, 120.0

_TURN = re.compile(r"This is turn (\d+) of")
_SENT_BACK = "Stop hook feedback"


class Unfinished(Exception):
    """A run did not do within its time what it had to do; the text says what."""


@dataclass
class Report:
    """What came of all runs."""

    kinds: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    notices: int = 0
    background: int = 0

    @property
    def runs(self) -> int:
        return sum(self.kinds.values())

    def note(self, number: int, plan: Plan, seen: Seen, version: str) -> None:
        """Count one run, and print what was wrong with it."""
        self.kinds[plan.kind] += 1
        self.endings[str(seen.session.get("stop_reason"))] += 1
        self.answers += seen.session.get("answers") or 0
        self.notices += len(seen.notices)
        self.background += sum(
            use.input.get("run_in_background") is True or use.name in ("Agent", "Monitor")
            for each in seen.served
            for use in each.say.tools
        )
        for wrong in judge(plan, seen):
            self.wrong[wrong.partition(":")[0]] += 1
            print(f"run {number} ({plan.kind}, {plan.act}, {version}): {wrong}")
            print(f"  served: {[_short(each) for each in seen.served]}")
            print(f"  session: {json.dumps(dict(seen.session))}", flush=True)


def _short(served: Served) -> str:
    tools = [f"{use.name} {json.dumps(use.input)[:100]}" for use in served.say.tools]
    back = " (sent back before)" if served.sent_back else ""
    return f"turn {served.turn}{back}: {' '.join([*served.tokens, *tools]) or 'nothing'}"


class Runs:
    """Runs of one version of the CLI, against one daemon."""

    def __init__(self, world: World, report: Report, random: Random) -> None:
        self._world = world
        self._report = report
        self._random = random

    async def one(self, number: int) -> None:
        """Draw a run, carry it out, and judge it."""
        random, world = Random(f"{self._random.getrandbits(64)}"), self._world
        folder = world.sandbox.dir / f"run-{number}"
        (folder / ".claude").mkdir(parents=True)
        plan = Drawing(random, number, world.version, world.api.script, folder).plan()
        if plan.hooks:
            (folder / ".claude" / "settings.json").write_text(json.dumps(plan.hooks))
        name, before = f"run-{number}", None
        try:
            await world.must(
                "start", name=name, prompt="x", trigger=plan.script, **_given(plan, folder)
            )
            before = await self._act(plan, name, random)
            session = await self._ended(name)
        except Unfinished as error:
            session = {"stop_reason": f"nothing: {error}"}
            await world.call("interrupt", name=name, force=True)
        notices = await self._notices(name)
        left = processes.of_run(str(notices[0]["id"])) if notices else {}
        whole = _content(session.get("result_file"))
        served = _served(world.api.of(plan.script))
        done = frozenset(file.name for file in folder.glob("done-*"))
        seen = Seen(served, session, notices, left, done, whole, before)
        self._report.note(number, plan, seen, world.version)

    async def _act(self, plan: Plan, name: str, random: Random) -> int | None:
        """Do to a run what its plan says; how many messages had been served before an interrupt."""
        if plan.act in ("open", "interrupt-held"):
            await self._until(name, "held", lambda s: bool(s["answers"] and s["background"]))
            # what else was opened has ended by then, or ends later: both are right
        if plan.act == "open":
            plan.gate.touch()
        if plan.act == "interrupt-tool":
            begun = Path(f"{plan.gate}.begun")
            await self._until(name, "in its tool", lambda _: begun.exists())
        if plan.act == "interrupt-any":
            await anyio.sleep(random.uniform(0, 4))
        if not plan.act.startswith("interrupt"):
            return None
        before = len(self._world.api.of(plan.script))
        await self._world.call("interrupt", name=name, force=random.random() < 0.3)
        return before

    async def _until(self, name: str, what: str, reached: Any) -> None:
        with anyio.move_on_after(ENDED_S):
            while True:
                session = await self._world.must("status", name=name)
                if reached(session):
                    return
                if session["state"] not in ("starting", "running"):
                    raise Unfinished(f"it ended as {session['stop_reason']} and never was {what}")
                await anyio.sleep(0.1)
        raise Unfinished(f"it never was {what}")

    async def _ended(self, name: str) -> dict[str, Any]:
        reply = await self._world.must("wait", names=[name], timeout_s=ENDED_S)
        if not reply["done"]:
            raise Unfinished(f"it ran for more than {ENDED_S:.0f} s")
        session: dict[str, Any] = reply["sessions"][0]
        return session

    async def _notices(self, name: str) -> list[dict[str, Any]]:
        """The notices of a run, once there is one."""
        found: list[dict[str, Any]] = []
        with anyio.move_on_after(NOTICE_S):
            while not found:
                found = [notice for notice in self._world.notices() if notice["name"] == name]
                await anyio.sleep(0 if found else 0.05)
        return found


def _given(plan: Plan, folder: Path) -> dict[str, Any]:
    given: dict[str, Any] = {"dir": str(folder)}
    if plan.goal:
        given |= {"goal": "be done", "max_turns": plan.max_turns}
    if plan.background_wait_s is not None:
        given["background_wait_s"] = plan.background_wait_s
    return given


def _served(calls: list[Call]) -> list[Served]:
    return list(_each_served(calls))


def _each_served(calls: list[Call]) -> Iterator[Served]:
    for call in calls:
        turns = [int(turn) for turn in _TURN.findall(call.user_text)]
        last = json.dumps(call.messages[-1])
        assert isinstance(call.step, Say)
        yield Served(call.step, max(turns, default=1), _SENT_BACK in last)


def _content(file: str | None) -> str:
    return Path(file).read_text() if file else ""


async def runs(root: Path, *, total: int, seed: int, at_once: int) -> Report:
    """That many runs, the versions side by side."""
    report, random = Report(), Random(seed)
    older = sum(random.random() < OLDER_SHARE for _ in range(total))
    for version, numbers in ((CURRENT, range(older, total)), (OLDER, range(older))):
        if numbers:
            await _of_version(root / version, version, report, random, numbers, at_once)
    return report


async def _of_version(
    root: Path, version: str, report: Report, random: Random, numbers: range, at_once: int
) -> None:
    sandbox = Sandbox(root).create(install.binary(version))
    try:
        async with serve() as api:
            world = World(sandbox, api, version)
            each = Runs(world, report, random)
            async with world.daemon() as daemon:
                limiter = anyio.CapacityLimiter(at_once)

                async def limited(number: int) -> None:
                    async with limiter:
                        await each.one(number)

                async with anyio.create_task_group() as group:
                    for number in numbers:
                        group.start_soon(limited, number)
                left = world.alive()
            for pid, command in left.items():
                report.wrong["ORPHANS"] += 1
                print(f"ORPHANS: {version} left {pid}: {command}")
            if daemon.returncode != 0:
                report.wrong["DAEMON"] += 1
                print(f"DAEMON: it ended with {daemon.returncode}")
            names = Counter(notice["name"] for notice in world.notices())
            for name, count in names.items():
                if count != 1:
                    report.wrong["NOTICES"] += 1
                    print(f"NOTICES: {count} of {name} in the end")
    finally:
        processes.kill_all(sandbox.home)


def main() -> int:
    """Read the arguments, carry out the runs, print the counts."""
    parser = argparse.ArgumentParser(prog="e2e.random_runs", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, help="of what the runs are; timing stays random")
    parser.add_argument("--at-once", type=int, default=(os.cpu_count() or 1) + 1)
    arguments = parser.parse_args()
    seed = secrets.randbelow(1 << 32) if arguments.seed is None else arguments.seed
    # that a CLI hung up amid an answer
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    try:
        for version in install.PINNED:
            install.ensure(version)
    except install.Unavailable as error:
        print(f"Claude Code is not to be had here: {error}", file=sys.stderr)
        return install.UNAVAILABLE
    root = Path(tempfile.mkdtemp(prefix="e2e-random-"))
    print(f"SEED={seed}, everything is kept in {root} if it goes wrong", flush=True)
    began = time.monotonic()
    report = anyio.run(
        partial(runs, root, total=arguments.runs, seed=seed, at_once=arguments.at_once)
    )
    _print(report, time.monotonic() - began)
    if report.wrong:
        print(f"repeat with: make e2e-random N={arguments.runs} SEED={seed}")
        return 1
    shutil.rmtree(root)
    return 0


def _print(report: Report, seconds: float) -> None:
    print(f"{report.runs} runs in {seconds:.0f} s: {_listed(report.kinds)}")
    print(f"  endings: {_listed(report.endings)}")
    print(f"  {report.background} background tasks, {report.answers} answers", end=", ")
    print(f"{report.notices} notices")
    for what in ("WRONG ENDING", "LOST ANSWER", "ORPHANS", "NOTICES", "DAEMON"):
        print(f"  {what.lower()}: {report.wrong[what]}")


def _listed(counted: Counter[str]) -> str:
    return ", ".join(f"{what} {count}" for what, count in counted.most_common())


if __name__ == "__main__":
    sys.exit(main())
