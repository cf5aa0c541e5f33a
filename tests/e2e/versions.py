"""Marks: what runs the real binary, and what does so on two versions of it."""

from __future__ import annotations

import pytest

from e2e.install import CURRENT, OLDER

on_both_versions = pytest.mark.parametrize("version", [CURRENT, OLDER], indirect=True)
