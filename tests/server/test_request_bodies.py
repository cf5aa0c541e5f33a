"""How JSON is bounded before it is parsed (issue 10, 10)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.server.request_bodies import is_shallow

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def depth(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, children), default=0) if isinstance(value, dict | list) else 0


def nodes(value: Any) -> int:
    """Containers, and members behind the first of each: what a bracket or comma begins."""
    if not isinstance(value, dict | list):
        return 0
    children = list(value.values() if isinstance(value, dict) else value)
    return 1 + max(0, len(children) - 1) + sum(map(nodes, children))


@given(JSON, st.booleans())
def test_it_is_the_depth_and_the_number_of_values_that_count(value: Any, plain: bool) -> None:
    body = json.dumps(value, ensure_ascii=plain).encode("utf-8", "surrogatepass")
    deep, many = depth(value), nodes(value)
    assert is_shallow(body, depth=deep, nodes=many)
    assert not deep or not is_shallow(body, depth=deep - 1, nodes=many)
    assert not many or not is_shallow(body, depth=deep, nodes=many - 1)


@pytest.mark.parametrize(
    "body",
    [
        b'"' + b'\\"' * 30_000,
        b'"' + b'\\"' * 30_000 + b"\\",
        b'"' * 60_001,
        b"\\" * 60_000,
        b'{"a": "' + b"[" * 60_000,
        b'""' * 30_000,
    ],
)
def test_strings_are_passed_over_in_one_go(body: bytes) -> None:
    """A bound on time would be no test: with one attempt for each quotation mark it takes hours."""
    assert is_shallow(body, depth=2, nodes=10)


@given(st.binary())
def test_unusable_content_is_reported(body: bytes) -> None:
    assert is_shallow(body, depth=len(body), nodes=len(body))
