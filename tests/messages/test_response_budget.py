"""Answers about several sessions: all of it is shown, each thing once."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.messages.endings import quoted
from hive_subagent.messages.response_budget import (
    ANSWER_LIMIT,
    STRUCTURED_LIMIT,
    fit_processes,
    several,
)
from hive_subagent.messages.sessions import undelivered
from hive_subagent.messages.text import fit_json, json_bytes, shares
from hive_subagent.models.replies import StatusReply
from hive_subagent.models.session import (
    Cause,
    OpenTool,
    ProcessInfo,
    SessionView,
    State,
    StopReason,
    Undelivered,
)
from hive_subagent.system.sanitize import on_lines

WORDS = st.one_of(
    st.none(),
    st.builds(
        lambda piece, times: piece * times,
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
        st.integers(1, 1000),
    ),
)


@st.composite
def views(draw: st.DrawFn) -> SessionView:
    running = draw(st.booleans())
    return SessionView(
        name=draw(st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}", fullmatch=True)),
        session_id="0b0c2a52-9f0a-4c55-8a1f-5a1c0b7f9c3e",
        dir="/" + "d" * draw(st.sampled_from([3, 60, 4000])),
        state=State.RUNNING if running else draw(st.sampled_from([State.IDLE, State.KILLED])),
        stop_reason=None if running else draw(st.sampled_from(StopReason)),
        cause=draw(st.none() | st.sampled_from(Cause)),
        open_tool=OpenTool(name="Bash", age_s=1.0) if running else None,
        goal=draw(WORDS),
        message=draw(WORDS),
        result=draw(WORDS),
    )


def answer_of(all_of_them: list[SessionView], lead: str = "") -> tuple[StatusReply, str, bool]:
    """The reply, the text, and whether both keep to their limits."""
    told = several(
        all_of_them, lead=lead, transcript=lambda view: f"/claude/{'p' * 150}/{view.session_id}"
    )
    reply = StatusReply(containment="cgroup", sessions=told.sessions, left_out=told.left_out)
    data = json.dumps(reply.model_dump(mode="json"), ensure_ascii=False)
    fits = json_bytes(on_lines(told.text)) <= ANSWER_LIMIT
    return reply, told.text, fits and len(data.encode()) <= STRUCTURED_LIMIT


@given(st.lists(views(), max_size=80))
def test_an_answer_fits_and_every_session_is_told_or_counted(some: list[SessionView]) -> None:
    reply, text, fits = answer_of(some, lead="Not ended yet.")
    assert fits
    assert len(reply.sessions) + reply.left_out == len(some)
    # lines take less than data, so the text tells of as many or more
    assert all(f"`{told.name}`" in text for told in reply.sessions)
    assert ("did not fit here" not in text) or reply.left_out > 0
    given_ = iter(some)
    for told in reply.sessions:
        # in their order, how each ended whole, and what it said from the beginning on
        view = next(view for view in given_ if view.name == told.name and view.dir == told.dir)
        assert (told.state, told.stop_reason, told.cause) == (
            view.state,
            view.stop_reason,
            view.cause,
        )
        assert f"`{told.name}`" in text
        assert (view.result or "").startswith(told.result or "")
        assert told.result_cut is (told.result != view.result)
        assert (told.transcript is not None) or not told.result_cut


def ended(number: int, result: str) -> SessionView:
    return SessionView(
        name=f"worker-{number}",
        session_id="0b0c2a52-9f0a-4c55-8a1f-5a1c0b7f9c3e",
        dir="/srv/a-project-of-ours",
        state=State.IDLE,
        stop_reason=StopReason.TURN_ENDED,
        result=result,
        role="worker",
        delegation="d:6f6a1f0e",
    )


def test_thirty_two_children_are_all_told_with_short_answers_whole() -> None:
    some = [ended(number, "x" * (300 if number % 2 else 8000)) for number in range(32)]
    reply, text, _ = answer_of(some)
    assert (len(reply.sessions), reply.left_out) == (32, 0)
    for told in reply.sessions[1::2]:
        assert (told.result, told.result_cut) == ("x" * 300, False)
    for told in reply.sessions[::2]:
        assert told.result is not None
        assert 300 < len(told.result) < 8000
        assert told.result_cut
    # issue 9, 30: the text is all that a model reads, so it is whole by itself
    for view in some[1::2]:
        assert f"`{view.name}` finished its turn.\n\nIts last answer:\n> {'x' * 300}\n" in text
    assert text.count("This answer is cut after") == 16
    assert text.endswith("Where something is cut, `status` with the name tells more of it.")


def test_what_fits_whole_is_left_as_it_is() -> None:
    some = [ended(number, "é" * 1000) for number in range(4)]
    assert answer_of(some)[0].sessions == some


@given(st.lists(st.integers(0, 500)), st.integers(0, 2000))
def test_shares_fill_the_room_and_favour_nobody(sizes: list[int], room: int) -> None:
    granted = shares(sizes, room)
    assert sum(granted) <= room
    assert all(share <= size for share, size in zip(granted, sizes, strict=True))
    cut = [share for share, size in zip(granted, sizes, strict=True) if share < size]
    if cut:
        assert sum(granted) > room - len(sizes)
        assert max(cut) - min(cut) <= 1
        assert max(granted) <= max(cut) + 1


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(2, 60))
def test_a_text_is_cut_to_its_size_in_json_and_no_further(text: str, limit: int) -> None:
    kept = fit_json(text, limit)
    assert text.startswith(kept)
    assert json_bytes(kept) <= limit
    assert kept == text or json_bytes(text[: len(kept) + 1]) > limit


def test_of_many_processes_some_are_told_and_the_others_counted() -> None:
    many = [ProcessInfo(pid=number, command="\\" * 200) for number in range(1000)]
    told, left_out = fit_processes(many)
    assert len(told) + left_out == 1000
    assert 0 < sum(json_bytes(process.command) for process in told) < ANSWER_LIMIT // 2
    assert fit_processes(many[:3]) == (many[:3], 0)


@given(st.text())
def test_no_line_of_a_quotation_is_without_its_mark(words: str) -> None:
    lines = on_lines(quoted(words)).splitlines()
    assert lines
    assert all(line == ">" or line.startswith("> ") for line in lines)


@given(st.text(min_size=1))
def test_an_undelivered_text_is_told_on_one_line(words: str) -> None:
    note = Undelivered(id="i-1", kind="info", text=words)
    assert len(undelivered(note).splitlines()) == 1
