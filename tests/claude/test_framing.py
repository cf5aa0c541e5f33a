"""Bytes to whole lines."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.claude.framing import MAX_LINE, LineFramer


def lines_of(framer: LineFramer, *chunks: bytes) -> list[bytes]:
    return [line for chunk in chunks for line in framer.feed(chunk)]


def test_a_line_is_cut_at_a_line_feed_only() -> None:
    odd = "a\u0085b\u2028c\x0bd\re".encode()
    assert lines_of(LineFramer(), odd + b"\n") == [odd]


def test_an_unfinished_last_line_is_kept_as_the_tail() -> None:
    framer = LineFramer()
    assert lines_of(framer, b'{"a":1}\n{"b"') == [b'{"a":1}']
    assert framer.tail == b'{"b"'
    assert lines_of(framer, b":2}\n") == [b'{"b":2}']


def test_a_line_of_the_largest_size_is_read_whole() -> None:
    """R1."""
    framer = LineFramer()
    piece = b"x" * (1024 * 1024)
    for _ in range(MAX_LINE // len(piece)):
        assert framer.feed(piece) == []
    assert [len(line) for line in framer.feed(b"\n")] == [MAX_LINE]
    assert framer.skipped == 0


def test_a_line_over_the_cap_is_skipped_told_and_the_next_one_read() -> None:
    """R1, R2."""
    framer = LineFramer(max_line=10)
    assert lines_of(framer, b"12345678", b"901", b"23", b"4\nnext\n") == [b"next"]
    assert (framer.skipped, framer.skipped_head) == (1, b"12345678901")
    assert lines_of(framer, b"abcdefghijk\nlast\n") == [b"last"]
    assert (framer.skipped, framer.skipped_head[:11]) == (2, b"abcdefghijk")


@given(
    lines=st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=20),
    tail=st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"")),
    cuts=st.lists(st.integers(0, 900), max_size=30),
)
def test_however_a_stream_is_cut_the_same_lines_come_out(
    lines: list[bytes], tail: bytes, cuts: list[int]
) -> None:
    data = b"".join(line + b"\n" for line in lines) + tail
    edges = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    framer = LineFramer()
    chunks = [data[a:b] for a, b in itertools.pairwise(edges)]
    assert lines_of(framer, *chunks) == lines
    assert framer.tail == tail


@given(
    lines=st.lists(st.integers(0, 24).map(lambda n: b"x" * n), max_size=15),
    cuts=st.lists(st.integers(0, 400), max_size=20),
)
def test_a_skipped_line_never_takes_another_with_it(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    edges = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    framer = LineFramer(max_line=12)
    out = lines_of(framer, *(data[a:b] for a, b in itertools.pairwise(edges)))
    short = [line for line in lines if len(line) <= 12]
    # a long line that came whole in one piece costs nothing to keep
    assert [line for line in out if len(line) <= 12] == short
    assert len(out) + framer.skipped == len(lines)
