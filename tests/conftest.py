"""Fixtures for every folder."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.daemon import PROGRAM, Daemon

ID_LIMIT = 60

# shells start their background jobs deaf to it, and what the tests start would inherit that
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

settings.register_profile(
    "ours",
    # how long an example takes says how busy the machine is, nothing of what is tested
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        # all examples of a test may share its directory
        HealthCheck.function_scoped_fixture,
    ],
)
settings.load_profile("ours")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon for all tests of a file; nothing of it may be alive in the end."""
    made = Daemon(tmp_path_factory.mktemp("world"))
    made.start()
    yield from _until_its_end(made)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Daemon]:
    """A world for one test; its daemon has yet to be started."""
    yield from _until_its_end(Daemon(tmp_path))


def _until_its_end(made: Daemon) -> Iterator[Daemon]:
    try:
        yield made
        process = made.process
        if process is not None and process.poll() is None:
            assert made.stop() == 0, made.log
            assert made.children() == {}
            assert "Traceback" not in made.log, made.log
    finally:
        if made.process is not None:
            made.process.kill()
            made.process.wait()
        print(made.log if made.log_file.exists() else "")  # shown where a test failed


def pytest_make_parametrize_id(val: object) -> str | None:
    """A long value is cut in a test's name, which logs and reports repeat (issue 11, 20)."""
    if isinstance(val, str | bytes) and len(val) > ID_LIMIT:
        start = val[:ID_LIMIT] if isinstance(val, str) else val[:ID_LIMIT].decode("latin-1")
        return f"{start}...{len(val)}"
    return None  # pytest's own


def pytest_report_header() -> str:
    """Which daemon is tested: one on PATH comes before the one beside the interpreter."""
    return f"hive-subagent-daemon: {PROGRAM}"
