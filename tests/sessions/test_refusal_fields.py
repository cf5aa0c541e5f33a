"""Refusals carry what they are about as fields, beside the sentence (issue 12, 10)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.house import House, house

from hive_subagent.delegation.roles import read_roles
from hive_subagent.errors import ConfigurationError, Refused, SubagentError
from hive_subagent.sessions import checks, paths
from hive_subagent.sessions.options import Options
from hive_subagent.sessions.store import Unreadable

Fields = tuple[str | None, str | None, float | None]


def fields(error: SubagentError) -> Fields:
    """Name, path and limit."""
    return error.name, error.path, error.limit


FAULTS: dict[str, tuple[Callable[[Path], object], Callable[[Path], Fields]]] = {
    "name": (lambda at: checks.check_name("-x"), lambda at: ("-x", None, None)),
    "blank text": (
        lambda at: checks.check_text("trigger", " "),
        lambda at: ("trigger", None, None),
    ),
    "long text": (
        lambda at: checks.check_text("trigger", "long", limit=3),
        lambda at: ("trigger", None, 3),
    ),
    "goal": (
        lambda at: checks.check_goal("x" * (checks.GOAL_LIMIT + 1)),
        lambda at: ("goal", None, checks.GOAL_LIMIT),
    ),
    "max_turns": (
        lambda at: checks.check_max_turns(0),
        lambda at: ("max_turns", None, checks.MAX_TURNS_LIMIT),
    ),
    "dir": (
        lambda at: paths.check_directory("gone", base=at),
        lambda at: ("dir", str(at / "gone"), None),
    ),
    "report_file": (
        lambda at: paths.check_report_file("gone/report", base=at),
        lambda at: ("report_file", str(at / "gone" / "report"), None),
    ),
    "prompt_file": (
        lambda at: paths.read_brief("gone", base=at),
        lambda at: ("prompt_file", str(at / "gone"), None),
    ),
    "roles_dir": (
        lambda at: read_roles(at / "gone"),
        lambda at: ("roles_dir", str(at / "gone"), None),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_argument_names_itself_its_path_and_its_limit(fault: str, tmp_path: Path) -> None:
    """Issue 12, 10."""
    check, expected = FAULTS[fault]
    with pytest.raises((Refused, ConfigurationError)) as caught:
        check(tmp_path)
    assert fields(caught.value) == expected(tmp_path)


@pytest.fixture
async def home_of_one(anyio_backend: str, tmp_path: Path) -> AsyncIterator[House]:
    """At most one run at a time."""
    async with house(tmp_path, max_running=1) as made:
        yield made


async def refusal(call: Any) -> Fields:
    with pytest.raises(Refused) as caught:
        await call
    return fields(caught.value)


async def test_a_refusal_for_a_session_names_it_or_the_setting(home_of_one: House) -> None:
    """Issue 12, 10."""
    home, service = home_of_one, home_of_one.service
    gate = home.gate()
    await home.begin(f"wait_file {gate}\nsay done", "one")
    brief = home.brief()
    assert await refusal(service.start("one", brief)) == ("one", None, None)
    assert await refusal(service.start("two", brief)) == ("max_running", None, 1)
    assert await refusal(service.status("two")) == ("two", None, None)
    assert await refusal(service.status_of_group("d:gone")) == ("d:gone", None, None)
    options = Options(turn_timeout_s=0)
    gate.touch()
    await home.ended("one")
    assert await refusal(service.start("one", brief, options=options)) == (
        "turn_timeout_s",
        None,
        0,
    )


async def test_an_unreadable_record_names_its_session_and_its_file(home: House) -> None:
    """Issue 12, 10."""
    await home.run("say done")
    session = (await home.ended()).session_id
    record = home.root / "state" / "sessions" / session / "record.json"
    await anyio.Path(record).write_text("{")
    with pytest.raises(Unreadable) as caught:
        home.executor.records.by_name("agent")
    assert fields(caught.value) == ("agent", str(home.root / "state" / "names" / "agent"), None)
