"""`start`, `continue` and `delegate` begin in one way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from support.house import House

import hive_subagent
from hive_subagent.errors import Refused
from hive_subagent.sessions.options import Options
from hive_subagent.sessions.prepare import Preparation
from hive_subagent.sessions.store import SessionRecord

ID = "8f14e45f-ceea-4a7a-9c0b-2f5d8b1a6c3d"


@pytest.fixture
def preparation(home: House) -> Preparation:
    executor = home.executor
    return Preparation(executor.settings, executor.records, executor.registry)


def of(home: House, name: str = "agent") -> SessionRecord:
    return SessionRecord(name=name, session_id=ID, dir=str(home.root / "work"), ours=True)


def test_a_launch_is_made_in_one_place() -> None:
    """Issue 12, 3."""
    package = Path(hive_subagent.__file__).parent
    makers = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Launch"
    }
    assert makers == {"sessions/prepare.py"}


async def test_a_new_session_has_its_brief_and_no_more_on_the_disk(
    home: House, preparation: Preparation
) -> None:
    """Issue 12, 3."""
    launch = preparation.new(of(home), "go", Options(goal="done", max_turns=3), b"brief")
    assert launch.brief is not None
    assert launch.brief.read_bytes() == b"brief"
    assert (launch.order.prompt, launch.order.goal, launch.order.max_turns) == ("go", "done", 3)
    assert (launch.resume, launch.lock, launch.predecessor) == (None, None, None)
    assert [file.name for file in launch.brief.parent.iterdir()] == ["brief.md"]
    preparation.forget([launch])
    assert not launch.brief.parent.exists()


async def test_a_refused_option_leaves_nothing_on_the_disk(
    home: House, preparation: Preparation
) -> None:
    """Issue 12, 3."""
    with pytest.raises(Refused, match="max_turns 0"):
        preparation.new(of(home), "go", Options(goal="done", max_turns=0), b"brief")
    assert not (home.root / "state" / "sessions" / ID).exists()


async def test_a_finished_session_is_resumed_by_its_id_with_its_brief(
    home: House, preparation: Preparation
) -> None:
    """Issue 12, 3."""
    ended = await home.run("say done")
    directory = home.root / "work"
    launch, known = preparation.resumed("agent", directory, "go on", Options())
    assert launch.lock is not None
    launch.lock.release()
    assert (launch.resume, known.session_id) == (ended.session_id, ended.session_id)
    assert launch.brief == home.executor.records.brief(ended.session_id)
    assert launch.keeps_limit


async def test_a_session_elsewhere_is_not_resumed(home: House, preparation: Preparation) -> None:
    """Issue 12, 3."""
    await home.run("say done")
    with pytest.raises(Refused, match="begun meanwhile"):
        preparation.resumed("agent", home.root, "go on", Options())
