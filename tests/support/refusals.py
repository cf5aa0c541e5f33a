"""A call that is refused changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from hive_subagent.errors import Refused
from support.house import House


async def refused(home: House, call: Any, match: str) -> None:
    """The call is a Refused of one line, and everything is as it was before."""
    before = everything(home)
    with pytest.raises(Refused, match=match) as caught:
        await call
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 6000
    assert everything(home) == before
    assert home.left_behind() == {}
    assert home.service.running == 0


def everything(home: House) -> list[str]:
    places = [home.root / name for name in ("state", "run", "work", "claude")]
    return sorted(str(found) for place in places for found in place.rglob("*"))
