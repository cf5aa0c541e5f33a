"""Fixtures of the notices' tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from outbox.owners import Owner


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def owner(tmp_path: Path) -> AsyncIterator[Owner]:
    """Not listening yet."""
    owner = Owner(tmp_path / "owner.sock")
    yield owner
    await owner.close()
