"""Fixtures of the end-to-end tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e import install, processes
from e2e.fake_api import serve
from e2e.sandbox import Sandbox
from e2e.world import World


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def version(request: pytest.FixtureRequest) -> str:
    """The CLI's version: the current one unless a test is parametrized over it."""
    return str(getattr(request, "param", install.CURRENT))


@pytest.fixture
async def world(anyio_backend: str, version: str) -> AsyncIterator[World]:
    """A sandbox of its own with a fake API; nothing of it may be alive afterwards."""
    if not install.binary(version).exists():
        pytest.fail(f"Claude Code {version} is not installed: run `make e2e`")
    # short: claude binds unix sockets below TMPDIR, whose paths may not pass 108 bytes
    root = Path(tempfile.mkdtemp(prefix="e2e-"))
    sandbox = Sandbox(root).create(install.binary(version))
    try:
        async with serve() as api:
            made = World(sandbox, api, version)
            yield made
        if made.log.exists():
            print(made.log.read_text())  # shown where the test failed
        left = processes.kill_all(sandbox.home)
        assert not left, f"left alive: {left}"
    finally:
        processes.kill_all(sandbox.home)
        shutil.rmtree(root, ignore_errors=True)
