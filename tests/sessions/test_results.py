"""What is told of a run's work: its last text, its cost, its memory."""

from __future__ import annotations

import json

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.house import House
from support.stub import NEW, OLD, script, text

from hive_subagent.messages.text import RESULT_LIMIT, fit


@given(st.text(st.characters(), max_size=4000), st.integers(0, 9000))
def test_a_text_is_cut_on_a_character_and_always_valid(said: str, limit: int) -> None:
    cut = fit(said, limit=limit)
    assert len(cut.encode("utf-8")) <= limit
    whole = said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert whole.startswith(cut)
    rest = whole[len(cut) :]
    assert not rest or len(cut.encode()) + len(rest[0].encode()) > limit
    assert fit(cut, limit=limit) == cut


@pytest.mark.parametrize("character", ["x", "é", "\U0001f41d"])
async def test_a_result_is_cut_at_eight_thousand_bytes(home: House, character: str) -> None:
    assert RESULT_LIMIT == 8000
    view = await home.run(script({"big_text": 9000, "of": character}))
    assert view.result == character * (8000 // len(character.encode()))
    (notice,) = await home.notices()
    assert f"> {view.result}\n" in notice["text"]
    cut = f"(This answer is cut after 8,000 bytes; the whole is in {view.result_file}.)"
    assert cut in notice["text"]
    assert view.result_cut
    assert view.transcript is not None
    assert await anyio.Path(view.transcript).is_file()


async def test_half_a_character_pair_reaches_neither_answer_nor_notice(home: House) -> None:
    """JSON carries what UTF-8 cannot."""
    view = await home.run(script(text("a\ud83db")), report_file=str(home.root / "report.md"))
    assert view.result == "a\ufffdb"
    view.model_dump_json().encode()
    (notice,) = await home.notices()
    assert "a\ufffdb" in notice["text"]
    assert "a\ufffdb" in (home.root / "report.md").read_text()
    stored, _ = await home.service.status("agent")
    assert stored == view


async def test_a_run_without_a_word_has_an_empty_result(home: House) -> None:
    view = await home.run(script({"result": {"result": ""}}))
    assert (view.stop_reason, view.result) == ("turn_ended", "")


@pytest.mark.parametrize(("version", "each"), [(OLD, 0.001), (NEW, 0.0008)])
async def test_a_cost_is_that_of_the_run_whatever_claude_counts(
    home: House, version: str, each: float
) -> None:
    """Since about 2.1.330 claude's figure is that of the session and goes on over a resume."""
    one, two = (
        script(text("x"), version=version),
        script(text("x"), {"bash": "true"}, text("y"), version=version),
    )
    assert (await home.run(one)).cost_usd == pytest.approx(each)
    await home.service.continue_("agent", two)
    assert (await home.ended()).cost_usd == pytest.approx(2 * each)
    await home.service.continue_("agent", one)
    assert (await home.ended()).cost_usd == pytest.approx(each)


async def test_an_unknown_cost_is_none_and_spoils_no_later_one(home: House) -> None:
    assert (await home.run(script({"die": "SIGKILL"}))).cost_usd is None
    await home.service.continue_("agent", script(text("x")))
    assert (await home.ended()).cost_usd is None, "nobody knows where that run began"
    await home.service.continue_("agent", script(text("x")))
    assert (await home.ended()).cost_usd == pytest.approx(0.0008)


async def test_without_cgroups_nobody_has_counted_memory(home: House) -> None:
    view = await home.run(script(text("x")))
    if view.containment == "session":
        assert view.peak_memory_bytes is None
        assert view.oom_kills is None


async def test_a_turn_that_a_background_task_opens_again_has_all_its_answers(home: House) -> None:
    """Issue 9, 2: in their order; there is one ending all the same."""
    view = await home.run(
        script(
            {"bash": "sleep 0.2", "background": True},
            text("started"),
            after_background=[text("and finished")],
        )
    )
    assert (view.stop_reason, view.result) == ("turn_ended", "started\n\nand finished")
    assert (view.answers, view.ended_background) == (2, [])
    (notice,) = await home.notices()
    assert "Its 2 answers, in their order:\n> started\n>\n> and finished" in notice["text"]


async def test_a_child_sees_the_allowed_environment_and_no_more(
    home: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R18: a nested session that knew its parent's wrote into the parent's session."""
    parents = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "0b5ed1b4-3a51-4d3c-9f6e-7a0d8c1f2e3a",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
        "AI_AGENT": "x",
        "NOTIFY_SOCKET": "/nowhere",
        "LISTEN_FDS": "1",
        "STATE_DIRECTORY": "/nowhere",
        "HIVE_SUBAGENT_PORT": "1",
        "SECRET": "s",
    }
    allowed = {"ANTHROPIC_API_KEY": "k", "LC_TIME": "C", "AWS_REGION": "r", "https_proxy": "p"}
    for name, value in {**parents, **allowed}.items():
        monkeypatch.setenv(name, value)
    seen = json.loads((await home.run(script({"echo_env": True}))).result or "")
    assert not parents.keys() & seen.keys()
    assert allowed.items() <= seen.items()
    assert seen["CLAUDE_CONFIG_DIR"] == str(home.root / "claude")
    assert seen["HIVE_SUBAGENT_RUN"].count(":") == 1
