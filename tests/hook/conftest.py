"""Channels for the tests of the hook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .channel import Channel


@pytest.fixture
def channel(tmp_path: Path) -> Channel:
    made = Channel(tmp_path)
    made.folder.mkdir(parents=True)
    return made


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Channel]:
    """Makes a channel of its own for each example of a property."""

    def make() -> Channel:
        made = Channel(tmp_path_factory.mktemp("project"))
        made.folder.mkdir(parents=True)
        return made

    return make
