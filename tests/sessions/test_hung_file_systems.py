"""A file system that never answers costs the call that names it, and nobody else (issue 10, 7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from support.house import House
from support.hung import hung_file_system
from support.stub import script, text

from hive_subagent.delegation.roles import read_roles
from hive_subagent.delegation.service import DelegationService, Task
from hive_subagent.errors import Refused
from hive_subagent.sessions.options import Options
from hive_subagent.system import blocking


@pytest.fixture
def hung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where nothing answers; a call gives it up soon."""
    monkeypatch.setattr(blocking, "FILE_TIMEOUT_S", 0.5)
    with hung_file_system(tmp_path / "hung") as place:
        yield place


@pytest.mark.parametrize("named", ["prompt_file", "dir", "report_file"])
async def test_a_start_that_names_it_is_refused_while_another_runs(
    home: House, hung: Path, named: str
) -> None:
    brief = home.brief()
    calls = {
        "prompt_file": lambda: home.service.start("slow", str(hung / "x")),
        "dir": lambda: home.service.start("slow", brief, dir=str(hung)),
        "report_file": lambda: home.service.start(
            "slow", brief, options=Options(report_file=str(hung / "x"))
        ),
    }
    async with anyio.create_task_group() as tasks:

        async def refused() -> None:
            with pytest.raises(Refused, match=f"{named} {hung}.*: no answer within"):
                await calls[named]()

        tasks.start_soon(refused)
        assert (await home.run(script(text("fine")))).result == "fine"


async def test_a_continue_and_a_delegation_that_name_it_are_refused(
    home: House, hung: Path
) -> None:
    await home.run(script(text("fine")))
    with pytest.raises(Refused, match=f"report_file {hung}/x: no answer within"):
        await home.service.continue_("agent", "go", options=Options(report_file=str(hung / "x")))
    delegations = DelegationService(home.executor, home.service, read_roles(None))
    with pytest.raises(Refused, match=f"dir {hung}: no answer within"):
        await delegations.delegate([Task(task="look", role="scout", dir=str(hung))])


async def test_a_session_whose_directory_hangs_is_told_all_the_same(
    home: House, tmp_path: Path
) -> None:
    """Where its transcript lies was worked out from the directory as it is now, in the loop."""
    place, brief = tmp_path / "place", home.brief(script(text("long " * 2_000)))
    place.mkdir()
    await home.service.start("agent", brief, dir=str(place))
    before = await home.ended()
    assert before.result_cut
    with hung_file_system(place):
        after, _ = await home.service.status("agent")
        delegated, _ = await home.service.status_of_all()
    assert after == before
    assert before.transcript is not None
    assert delegated.sessions == [before]


async def test_a_report_file_that_hangs_at_the_end_costs_the_report_alone(
    home: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "FILE_TIMEOUT_S", 0.5)
    reports, gate = tmp_path / "reports", home.gate()
    reports.mkdir()
    does = script({"wait_file": str(gate)}, text("done"))
    await home.begin(does, report_file=str(reports / "r.md"))
    with hung_file_system(reports):
        gate.touch()
        assert (await home.ended()).result == "done"
        (notice,) = await home.notices()
    assert f"report file {reports}/r.md: no answer within" in notice["text"]
    assert notice["kind"] == "finished"
