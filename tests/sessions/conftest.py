"""A house for the tests that want a supervisor of their own and no HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from support.house import House, house

Housing = Callable[..., AbstractAsyncContextManager[House]]


@pytest.fixture
async def home(anyio_backend: str, tmp_path: Path) -> AsyncIterator[House]:
    """A house with short grace times."""
    async with house(tmp_path) as made:
        yield made
