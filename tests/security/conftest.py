"""A daemon whose owner has a token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.daemon import Daemon

from security.rude import guard


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One for all tests in here that leave it as it was; nothing may be alive in the end."""
    made = guard(Daemon(tmp_path_factory.mktemp("guarded")))
    made.start()
    try:
        yield made
        assert made.stop() == 0, made.log
        assert made.children() == {}
        assert "Traceback" not in made.log, made.log
    finally:
        assert made.process is not None
        made.process.kill()
        made.process.wait()
