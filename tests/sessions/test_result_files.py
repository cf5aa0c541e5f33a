"""The whole answer of a run, in a file of its own."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.house import House
from support.stub import HANG, script, text

from hive_subagent.messages.text import RESULT_LIMIT
from hive_subagent.models.session import SessionView
from hive_subagent.sessions.result_files import content_of
from hive_subagent.sessions.store import SessionStore


def file_of(view: SessionView) -> Path:
    assert view.result_file is not None
    return Path(view.result_file)


async def test_the_whole_of_a_long_answer_lies_in_a_private_file(home: House) -> None:
    """Issue 9, 9: status, notice and report file name it; the cut answer has only its beginning."""
    report = home.root / "report.md"
    view = await home.run(script({"big_text": 20_000, "of": "é"}), report_file=str(report))
    file = file_of(view)
    assert file.read_text() == "é" * 20_000 + "\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.is_relative_to(home.root / "state")
    assert view.result_cut
    (notice,) = await home.notices()
    assert notice["result_file"] == view.result_file
    whole = f"(This answer is cut after {RESULT_LIMIT:,} bytes; the whole is in {file}.)"
    assert whole in notice["text"]
    assert whole in report.read_text()
    _, told = await home.service.status("agent")
    assert whole in told


async def test_a_short_answer_has_its_file_too(home: House) -> None:
    """Issue 9, 9: a program need not care how long an answer is."""
    view = await home.run(script(text("done")))
    assert file_of(view).read_text() == "done\n"
    (notice,) = await home.notices()
    assert notice["result_file"] == view.result_file


async def test_each_run_has_a_file_of_its_own_and_archiving_removes_them(home: House) -> None:
    """Issue 9, 9."""
    first = await home.run(script(text("one")))
    await home.service.continue_("agent", script(text("two")))
    second = await home.ended()
    files = [file_of(first), file_of(second)]
    assert [file.read_text() for file in files] == ["one\n", "two\n"]
    again = await home.run(script(text("three")))
    assert not any(file.exists() for file in files)
    assert file_of(again).read_text() == "three\n"


async def test_a_run_without_an_answer_has_none(home: House) -> None:
    """Issue 9, 9."""
    assert (await home.run(script({"api_error": 529}))).result_file is None
    assert (await home.run(script({"result": {"result": ""}}), "silent")).result_file is None
    await home.begin(script(HANG), "hangs")
    await home.service.interrupt("hangs")
    assert (await home.ended("hangs")).result_file is None
    assert not list(home.root.glob("state/sessions/*/results/*"))


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), MemoryError()])
async def test_an_answer_that_cannot_be_kept_costs_the_run_nothing_else(
    home: House,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    """Issue 9, 9: a full disk is said, in the log and in the notice."""

    def full(*_: object) -> Path:
        raise error

    monkeypatch.setattr(SessionStore, "save_result", full)
    with caplog.at_level(logging.ERROR):
        view = await home.run(script(text("done")))
    assert (view.stop_reason, view.result, view.result_file) == ("turn_ended", "done", None)
    (notice,) = await home.notices()
    assert "The whole answer could not be kept in a file: " in notice["text"]
    assert "is not kept in a file" in caplog.text


async def test_a_place_that_is_blocked_is_named(home: House) -> None:
    """Issue 9, 9."""
    gate = home.gate()
    live = await home.begin(script({"wait_file": str(gate)}, text("done")))
    place = home.root / "state" / "sessions" / live.record.session_id / "results"
    await anyio.Path(place).write_text("in the way")
    gate.touch()
    view = await home.ended()
    assert (view.stop_reason, view.result) == ("turn_ended", "done")
    (notice,) = await home.notices()
    assert str(place) in notice["text"]


@given(st.lists(st.text(st.characters(), max_size=40), min_size=1, max_size=4))
def test_several_answers_stand_in_order_and_always_in_valid_utf_8(answers: list[str]) -> None:
    """Issue 9, 2 and 9."""
    whole = content_of(answers).decode()
    at = 0
    for answer in answers:
        said = answer.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        at = whole.index(said, at) + len(said)


@given(st.text(st.sampled_from("aé\U0001f41d\n"), max_size=600))
def test_a_file_has_a_limit_and_says_where_it_is_cut(answer: str) -> None:
    """Issue 9, 9."""
    content = content_of([answer], limit=400)
    assert len(content) <= 400
    if len(answer.encode()) > 400:
        assert content.endswith(b"[cut here: the answers are larger than a result file may be]\n")
        assert answer.startswith(content.decode().partition("\n\n[cut")[0])


async def test_a_started_child_is_told_who_reads_its_last_message(home: House) -> None:
    """Issue 9, 9: in its brief, and so in every turn."""
    first = await home.run(script({"echo_brief": True}))
    assert "it reads your last message when your turn ends" in (first.result or "")
    assert "the first 8,000 bytes" in (first.result or "")
    await home.service.continue_("agent", script({"echo_brief": True}))
    assert (await home.ended()).result == first.result
