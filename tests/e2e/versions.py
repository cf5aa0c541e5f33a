"""The mark of tests that run on both pinned versions of the CLI: they differ there."""

from __future__ import annotations

import pytest

from e2e.install import CURRENT, OLDER

on_both_versions = pytest.mark.parametrize("version", [CURRENT, OLDER], indirect=True)
