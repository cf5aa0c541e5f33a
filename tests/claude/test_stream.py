"""Lines that came together, and those who follow them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import batch_of, batch_of_events

from hive_subagent.claude import protocol
from hive_subagent.claude.stream import BORDER, Batch, Stream

TEXT = {"type": "text", "text": "hello"}


def said(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(parts)}, **more}


LINES = st.sampled_from(
    [
        '{"type":"result"}',
        '{"content":[{"type": "tool_use"}]}',
        '{"text":"he said \\"result\\""}',
        '{"isReplay":true}',
        '{"type":"assistant"}',
        '{"type":"assistant","message":{"content":[{"type":"tool_use"}]}}',
        '{"type":"assistant","message":{"content":[{"type":"text","text":"\\"tool_use\\""}]}}',
        "",
        '{"subtype":"init"}',
        '"tool_result" "result"',
    ]
)


@given(st.lists(LINES, min_size=1, max_size=20))
def test_all_lines_tell_something_but_what_the_model_says_without_a_tool(lines: list[str]) -> None:
    idle = [line.startswith('{"type":"assistant"') and '"tool_use"' not in line for line in lines]
    batch = batch_of("".join(f"{line}\n" for line in lines).encode())
    assert list(batch.telling) == [n for n, quiet in enumerate(idle) if not quiet]


TEXTS = st.text() | st.sampled_from(["\n", "\\n", '"', "\ud800", "\x00\x7f\x85", "x" * 5000])
PARTS = st.one_of(
    TEXTS.map(lambda text: {"type": "text", "text": text}),
    TEXTS.map(lambda text: {"type": "thinking", "thinking": text}),
    st.just({"type": "tool_use", "name": "Bash", "input": {}}),
    st.just({"type": "text", "text": None}),
    st.just({"text": 5}),
    st.just("no part"),
)
MESSAGES = st.one_of(
    st.lists(PARTS, max_size=3).map(lambda parts: {"id": "m", "content": parts, "n": [1.5, None]}),
    st.just({"content": "no list"}),
    st.none(),
)
EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["assistant", "assistant", "assistant", "user", "result"])},
    optional={
        "message": MESSAGES,
        "parent_tool_use_id": st.sampled_from([None, "toolu_1"]),
        "huge": st.just(10**400),
    },
)


def texts_by_full_parse(line: bytes) -> list[str]:
    event = protocol.parse(line)
    assert event is not None
    parts = event["message"]["content"]
    return [part["text"] for part in parts if part["type"] == "text" and part["text"] is not None]


@given(st.lists(EVENTS, min_size=1, max_size=6))
def test_texts_are_those_of_a_full_parse_or_left_to_the_events(events: list[Any]) -> None:
    batch = batch_of_events(*events)
    texts = batch.texts
    if texts is not None:
        assert all(event["type"] == "assistant" for event in events)
        assert all(event.get("parent_tool_use_id") is None for event in events)
        assert texts == [text for line in batch.lines for text in texts_by_full_parse(line)]


def test_texts_of_plain_answers_are_read_without_their_events() -> None:
    thinking = {"type": "thinking", "thinking": "hm"}
    assert batch_of_events(said(TEXT), said(thinking, TEXT)).texts == ["hello", "hello"]


@pytest.mark.parametrize(
    "event",
    [
        said(TEXT, {"type": "tool_use"}),
        said(TEXT, parent_tool_use_id="toolu_1"),
        {"type": "user", "message": {"content": []}},
        {"type": "result", "result": "hello"},
    ],
)
def test_a_line_that_is_more_than_a_text_leaves_the_whole_to_the_events(
    event: dict[str, Any],
) -> None:
    batch = batch_of_events(said(TEXT), event)
    assert batch.texts is None
    assert said(TEXT) in batch.events()


def test_a_line_that_is_no_json_leaves_the_whole_to_the_events() -> None:
    block = json.dumps(said(TEXT), separators=(",", ":")).encode()
    assert batch_of(block + b"\n" + block[:-1] + b"\n").texts is None


def test_a_line_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []

    def parse(line: bytes) -> dict[str, Any]:
        parsed.append(line)
        return {"type": "assistant"}

    monkeypatch.setattr(protocol, "parse", parse)
    batch = batch_of(b'{"type":"assistant"}\n{"type":"user"}\n{"type":"system"}\n')
    batch.event(2)
    batch.event(2)
    assert [len(list(batch.events())) for _ in range(2)] == [3, 3]
    assert len(parsed) == 3


def test_events_leave_out_what_nobody_asked_for_beside_the_turn() -> None:
    batch = batch_of(b'{"type":"system"}\nplain text\n{"type":"user"}\n')
    assert list(batch.events()) == [{"type": "user"}]


def test_what_an_agent_of_claudes_own_says_is_not_spoken() -> None:
    main, inner = said(TEXT), said(TEXT, parent_tool_use_id="toolu_1")
    told = {"type": "user", "message": {"content": []}}
    batch = batch_of_events(main, inner, told, main)
    assert batch.spoken == [batch.lines[0], BORDER, batch.lines[3]]


def test_a_pattern_that_begins_in_an_earlier_piece_is_found() -> None:
    line = json.dumps(said({"type": "tool_use"}), separators=(",", ":")).encode()
    batch = Batch([line], line[-5:] + b"\n")
    assert list(batch.telling) == [0]


def test_each_follower_gets_every_batch_in_order() -> None:
    stream, first, second = Stream(), list[Batch](), list[Batch]()
    stream.follow(first.append)
    stream.follow(second.append)
    batches = [batch_of(b"a\n"), batch_of(b"b\n")]
    for batch in batches:
        stream.publish(batch)
    assert first == second == batches


def test_a_follower_that_fails_is_logged_once_and_costs_the_others_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stream, got = Stream(), list[Batch]()

    def fail(batch: Batch) -> None:
        raise OSError("no")

    stream.follow(fail)
    stream.follow(got.append)
    for _ in range(3):
        stream.publish(batch_of(b"a\n"))
    assert len(got) == 3
    assert len(caplog.records) == 1
