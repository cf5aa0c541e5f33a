"""Sizes as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.system.operator_input import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        (4096, 4096),
        ("512M", 512 << 20),
        ("512m", 512 << 20),
        ("512MiB", 512 << 20),
        ("512 MB", 512 << 20),
        ("2g", 2 << 30),
        (" 3K ", 3 << 10),
        ("1T", 1 << 40),
        ("17B", 17),
    ],
)
def test_a_size_is_bytes_or_a_number_with_a_unit(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "0", 0, -1, "-1M", "1.5G", "M", "1P", "infinity", "٣M", "1 0", True, "9" * 5000]
)
def test_anything_else_is_refused_by_name(text: str | int) -> None:
    with pytest.raises(ValueError, match="is not a size") as refusal:
        parse_size(text)
    assert repr(text)[:80] in str(refusal.value)


@given(st.text())
def test_no_text_makes_it_fail_otherwise(text: str) -> None:
    try:
        size = parse_size(text)
    except ValueError:
        return
    assert size > 0
