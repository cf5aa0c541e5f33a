"""Ctrl-C while a run is started, goes on, and is being interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hive_subagent.cli.client import Client, Refused
from hive_subagent.cli.following import follow

ENDED = {"name": "one", "state": "killed", "stop_reason": "killed"}


class Cut(Client):
    """A daemon whose calls are cut by Ctrl-C where `cuts` says so; notes what it was asked."""

    def __init__(self, *cuts: str) -> None:
        super().__init__(Path("/nowhere"))
        self.cuts = list(cuts)
        self.asked: list[tuple[str, Any]] = []

    def get(self, route: str, **query: Any) -> dict[str, Any]:
        return ENDED

    def post(
        self, route: str, body: Mapping[str, Any], *, within_s: float = 60.0
    ) -> dict[str, Any]:
        what = route.rpartition("/")[2]
        self.asked.append((what, body.get("force")))
        if self.cuts and self.cuts[0] == what:
            del self.cuts[0]
            raise KeyboardInterrupt
        return {"sessions": [ENDED]}


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        ([], []),
        (["sessions"], [False]),
        (["wait"], [False]),
        (["wait", "interrupt"], [False, True]),
        (["wait", "wait"], [False, False]),
    ],
)
def test_ctrl_c_interrupts_the_run_and_a_second_one_kills_it(
    cuts: list[str], expected: list[bool]
) -> None:
    """Issue 13, 2."""
    client = Cut(*cuts)
    assert follow(client, "one", {"name": "one"}, shown=False) == ENDED
    assert [force for what, force in client.asked if what == "interrupt"] == expected


def test_a_run_that_is_refused_is_not_followed() -> None:
    class Refusing(Cut):
        def post(
            self, route: str, body: Mapping[str, Any], *, within_s: float = 60.0
        ) -> dict[str, Any]:
            raise Refused("no")

    with pytest.raises(Refused):
        follow(Refusing(), "one", {}, shown=False)
