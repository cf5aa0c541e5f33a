"""Whole delegations against a real daemon and the stand-in of claude."""

from __future__ import annotations

from typing import Any

from support.daemon import Daemon
from support.stub import script, text


def tasks(*each: str, role: str = "worker", **further: Any) -> list[dict[str, Any]]:
    """One task for each script."""
    return [{"task": does, "role": role, **further} for does in each]


def says(what: str) -> str:
    return script(text(what))


async def over(daemon: Daemon, delegation: str) -> list[dict[str, Any]]:
    """The children of a delegation, once it is over."""
    reply = await daemon.must("wait", names=[delegation], timeout_s=60)
    assert reply["done"], reply
    sessions: list[dict[str, Any]] = reply["sessions"]
    return sessions


async def test_three_children_at_once_are_told_in_one_notice(daemon: Daemon) -> None:
    reply = await daemon.must("delegate", tasks=tasks(says("one"), says("two"), says("three")))
    assert ":" in reply["delegation"]
    assert len(set(reply["names"])) == 3
    sessions = await over(daemon, reply["delegation"])
    assert [session["result"] for session in sessions] == ["one", "two", "three"]
    assert {session["delegation"] for session in sessions} == {reply["delegation"]}
    notice = await daemon.notice(reply["delegation"])
    assert (notice["kind"], notice["session_id"]) == ("delegation", "")
    assert [child["name"] for child in notice["children"]] == reply["names"]
    assert [child["result"] for child in notice["children"]] == ["one", "two", "three"]
    for name in reply["names"]:
        assert daemon.notices(name) == []
