"""A home for the readers of the pages."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Short, as homes are: a socket's address holds 107 bytes, and `curl -s` says nothing of it."""
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        yield Path(folder)
