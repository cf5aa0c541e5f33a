"""Text of others that is shown: it acts on no terminal and forges no line."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.system.sanitize import on_lines, on_one_line

ANY = st.text(st.characters())  # lone surrogates too


@given(ANY)
def test_one_line_holds_nothing_but_what_prints(text: str) -> None:
    shown = on_one_line(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) <= 1


@given(ANY)
def test_lines_hold_no_control_character_but_line_ends_and_tabs(text: str) -> None:
    left = {c for c in on_lines(text).replace("\r\n", "") if unicodedata.category(c) == "Cc"}
    assert left <= {"\n", "\t", "\x85"}


@given(st.text(st.characters(exclude_categories=["C", "Z"])))
def test_what_prints_stays_as_it_is(text: str) -> None:
    assert on_one_line(text) == on_lines(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a b"),
        ("a\nINFO forged", "a\\nINFO forged"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("\ud800", "\\ud800"),
        ("naïve 🦀", "naïve 🦀"),
    ],
)
def test_on_one_line(text: str, shown: str) -> None:
    assert on_one_line(text) == shown
