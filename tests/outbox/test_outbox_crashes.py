"""The daemon may die between any two steps: never lost, and once per sink as far as files tell."""

import asyncio
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from support.owed import last_entry

from hive_subagent.outbox.outbox import Outbox
from outbox.owners import Place, make_notice


class Death(BaseException):
    """The process is gone: raised at one change to the disk, and at every one after it."""


class Mortality:
    """Lets a number of changes below a directory happen, and none after.

    Of the line at which the process dies, half is written.
    """

    def __init__(self) -> None:
        self.below: str | None = None
        self.left = 0
        sys.addaudithook(self._hook)  # stays for good: idle while `below` is None
        self._pwrite = os.pwrite

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        if self.below is None:
            return self._pwrite(descriptor, data, offset)
        if self.left == 0:
            self._pwrite(descriptor, bytes(data)[: len(data) // 2], offset)
            raise Death
        self.left -= 1
        return self._pwrite(descriptor, data, offset)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.below is None or event not in ("open", "os.rename", "os.remove", "os.mkdir"):
            return
        if not str(arguments[0]).startswith(self.below):
            return
        if event == "open" and not arguments[2] & 0o100:  # O_CREAT
            return
        if self.left == 0:
            raise Death
        self.left -= 1


@pytest.fixture(scope="module")
def once() -> Mortality:
    return Mortality()


@pytest.fixture
def mortality(once: Mortality, monkeypatch: pytest.MonkeyPatch) -> Mortality:
    monkeypatch.setattr("os.pwrite", once.pwrite)
    return once


async def live(outbox: Outbox, done: set[str]) -> None:
    for run_id in ("r1", "r2", "r3"):
        outbox.promise(run_id, {"name": run_id})
        done.add(f"promise {run_id}")
    outbox.cancel("r2")
    done.add("cancel r2")
    for run_id in ("r1", "r3"):
        outbox.fulfil(run_id, make_notice(run_id, text="as it was"))
        done.add(f"fulfil {run_id}")
        try:
            await outbox.drain(10)
        except BaseExceptionGroup as group:
            raise Death from group


async def recover(state_dir: Path, places: list[Place]) -> None:
    outbox = Outbox(state_dir, places)
    for run in outbox.load_unfinished():
        assert run.payload == {"name": run.run_id}
        outbox.fulfil(run.run_id, make_notice(run.run_id, text="the daemon stopped"))
    await outbox.drain(10)
    assert outbox.pending == 0


async def test_a_death_at_any_change_to_the_disk_loses_nothing(
    tmp_path: Path, mortality: Mortality
) -> None:
    """R17."""
    survived = deaths = 0
    while not survived:
        state_dir = tmp_path / str(deaths)
        state_dir.mkdir()
        places = [Place("a"), Place("b")]
        done: set[str] = set()
        outbox = Outbox(state_dir, places)
        mortality.left, mortality.below = deaths, str(state_dir)
        try:
            await live(outbox, done)
            survived += 1
        except Death:
            deaths += 1
        finally:
            mortality.below = None
        told_before = {place.key: Counter(n.id for n in place.received) for place in places}
        kept = {
            file.stem: last_entry(file.read_bytes()).get("accepted", [])
            for file in (state_dir / "owed").glob("*.json")
        }
        await recover(state_dir, places)

        for place in places:
            told = Counter(notice.id for notice in place.received)
            for run_id in ("r1", "r3"):
                if f"promise {run_id}" in done:
                    assert told[run_id] >= 1
                if place.key in kept.get(run_id, []):
                    assert told[run_id] == told_before[place.key][run_id] == 1
            if "cancel r2" in done:
                assert told["r2"] == 0
            # at most the one that was taken in the instant of the death
            assert (told - Counter(set(told))).total() <= 1
        for run_id in ("r1", "r3"):
            texts = {n.text for place in places for n in place.received if n.id == run_id}
            assert len(texts) <= 1
            if f"fulfil {run_id}" in done:
                assert texts == {"as it was"}
        assert list((state_dir / "owed").iterdir()) == []
    assert deaths >= 15


class Owing(RuleBasedStateMachine):
    """Runs, moods and restarts in any order; every run is told of once at each place."""

    @initialize()
    def begin(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.places = [Place("a"), Place("b"), Place("c")]
        self.count = 0
        self.running: list[str] = []
        self.expected: dict[str, str] = {}
        self.restart()

    @rule()
    def restart(self) -> None:
        self.outbox = Outbox(Path(self.directory.name), self.places)
        unfinished = [run.run_id for run in self.outbox.load_unfinished()]
        assert sorted(unfinished) == sorted(self.running)
        for run_id in unfinished:
            self.end(run_id, "the daemon stopped")

    def end(self, run_id: str, text: str) -> None:
        self.running.remove(run_id)
        self.expected[run_id] = text
        assert self.outbox.fulfil(run_id, make_notice(run_id, text=text))

    @rule()
    def answer_well(self) -> None:
        self.count += 1
        self.running.append(f"r{self.count}")
        self.outbox.promise(f"r{self.count}", {})

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def answer_with_an_error(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(self.running))
        self.running.remove(run_id)
        self.outbox.cancel(run_id)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), text=st.text(st.characters(), max_size=5))
    def finish(self, data: st.DataObject, text: str) -> None:
        self.end(data.draw(st.sampled_from(self.running)), text)

    @rule(index=st.integers(0, 2), mood=st.sampled_from(["takes", "refuses", "is away"]))
    def change_mood(self, index: int, mood: str) -> None:
        self.places[index].mood = mood

    @rule()
    def drain(self) -> None:
        self.runner.run(self.outbox.drain(10))
        assert self.outbox.pending == 0 or any(place.mood != "takes" for place in self.places)

    def teardown(self) -> None:
        for place in self.places:
            place.mood = "takes"
        self.restart()
        self.drain()
        for place in self.places:
            told = [(notice.id, notice.text) for notice in place.received]
            assert sorted(told) == sorted(self.expected.items())
        assert list((Path(self.directory.name) / "owed").iterdir()) == []
        self.runner.close()
        self.directory.cleanup()


TestOwing = Owing.TestCase
TestOwing.settings = settings(max_examples=60, stateful_step_count=30)
