"""Continuing: hits, misses, what is kept and what is said of the run before."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.stub import HANG, NEW, OLD, need_help, script, text, turns

from hive_subagent.messages.prompts import READER_NOTE


async def test_a_continued_session_knows_what_was_said_and_owes_another_notice(
    daemon: Daemon,
) -> None:
    first = await daemon.run(script(text("one")), trigger="the first words")
    name = first["name"]

    answer = await daemon.call("continue", name=name, prompt=script({"echo_history": True}))

    assert answer.data["session_id"] == first["session_id"]
    assert answer.data["previous"] == {"state": "idle", "cause": None, "signal": None}
    assert answer.data["archived"] == 0
    assert f"`{name}` goes on" in answer.text
    assert json.loads((await daemon.ended(name))["result"]) == ["the first words"]
    assert (await daemon.notice(name, count=2))["kind"] == "finished"


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_miss_is_the_error_of_the_call_and_leaves_nothing(
    daemon: Daemon, version: str
) -> None:
    """R20: claude's own words, the place searched, what to do."""
    before = sorted(daemon.state_dir.rglob("*"))
    name = daemon.name()

    said = await daemon.refused("continue", name=name, prompt=script(text("x"), version=version))

    assert f'Provided value "{name}" is not a UUID and does not match any session title' in said
    assert f"searched {daemon.claude_dir} for directory {daemon.work_dir}" in said
    assert "`dir` names the directory the session was started in" in said
    assert "cannot move" in said
    assert sorted(daemon.state_dir.rglob("*")) == before
    assert "nothing is known" in await daemon.refused("status", name=name)
    assert daemon.notices(name) == []


async def test_a_miss_names_the_directory_of_the_call(daemon: Daemon, tmp_path: Path) -> None:
    said = await daemon.refused(
        "continue", name=daemon.name(), prompt="x", dir=str(tmp_path), goal="g"
    )
    assert f"for directory {tmp_path}" in said
    assert list((daemon.runtime_dir / "mcp").iterdir()) == []


async def test_a_session_of_ours_whose_transcript_is_gone_is_a_miss_that_keeps_its_record(
    daemon: Daemon,
) -> None:
    """R20."""
    first = await daemon.run(script(text("one")))
    (transcript,) = (f for f in daemon.transcripts() if f.stem == first["session_id"])
    transcript.rename(transcript.with_suffix(".away"))

    said = await daemon.refused("continue", name=first["name"], prompt="go on")

    assert f"No conversation found with session ID: {first['session_id']}" in said
    assert "`start` it anew" in said
    assert (await daemon.must("status", name=first["name"]))["result"] == "one"
    transcript.with_suffix(".away").rename(transcript)
    await daemon.must("continue", name=first["name"], prompt="go on")
    await daemon.ended(first["name"])
    await daemon.notice(first["name"], count=2)


async def test_claudes_list_of_ambiguous_sessions_is_passed_on(daemon: Daemon) -> None:
    """R19."""
    for _ in range(2):
        daemon.claude_by_hand("--name=twice")
    ours = {f.stem for f in daemon.transcripts() if '"twice"' in f.read_text()}

    said = await daemon.refused("continue", name="twice", prompt="go on")

    assert "matches 2 sessions" in said
    assert len(ours) == 2
    assert all(session_id in said for session_id in ours)


async def test_a_session_that_claude_knows_by_its_title_goes_on_and_is_ours_from_then_on(
    daemon: Daemon, tmp_path: Path
) -> None:
    daemon.claude_by_hand("--name=by-hand", prompt="said by hand", directory=tmp_path)
    (transcript,) = (f for f in daemon.transcripts() if '"by-hand"' in f.read_text())

    answer = await daemon.call(
        "continue", name="by-hand", prompt=script({"echo_history": True}), dir=str(tmp_path)
    )

    assert answer.data["session_id"] == transcript.stem
    assert answer.data["previous"] is None
    assert json.loads((await daemon.ended("by-hand"))["result"]) == ["said by hand"]
    again = await daemon.must("continue", name="by-hand", prompt="go on")
    assert again["dir"] == str(tmp_path)
    await daemon.ended("by-hand")
    await daemon.notice("by-hand", count=2)


async def test_a_killed_predecessor_is_said_in_the_reply(daemon: Daemon) -> None:
    first = await daemon.run(script({"die": "SIGKILL"}))

    answer = await daemon.call("continue", name=first["name"], prompt=script(text("x")))

    assert answer.data["previous"] == {"state": "killed", "cause": "signal", "signal": "SIGKILL"}
    assert "KILLED" in answer.text
    assert "SIGKILL" in answer.text
    assert "half done" in answer.text
    await daemon.ended(first["name"])


async def test_a_failed_predecessor_is_said_with_its_words(daemon: Daemon) -> None:
    first = await daemon.run(script({"stderr": "No luck.\n"}, {"exit": 1}))
    answer = await daemon.call("continue", name=first["name"], prompt=script(text("x")))
    assert answer.data["previous"] == {"state": "failed", "cause": "other", "signal": None}
    assert "No luck." in answer.text
    await daemon.ended(first["name"])


async def test_what_runs_cannot_be_continued(daemon: Daemon) -> None:
    """R22: nor can anything else be done to it under its name but to stop it."""
    name = await daemon.begin(script(HANG))
    assert "running already" in await daemon.refused("continue", name=name, prompt="x")
    assert "running already" in await daemon.refused("start", name=name, prompt_file=daemon.brief())
    await daemon.must("interrupt", name=name)
    await daemon.notice(name)


async def test_a_session_is_not_moved_to_another_directory(daemon: Daemon, tmp_path: Path) -> None:
    name = (await daemon.run(script(text("x"))))["name"]
    said = await daemon.refused("continue", name=name, prompt="x", dir=str(tmp_path))
    assert str(daemon.work_dir) in said
    assert str(tmp_path) in said
    assert "cannot move" in said
    (tmp_path / "link").symlink_to(daemon.work_dir)
    reply = await daemon.must("continue", name=name, prompt="x", dir=str(tmp_path / "link"))
    assert reply["dir"] == str(daemon.work_dir)
    await daemon.ended(name)


async def test_goal_turns_and_report_are_kept_until_a_call_changes_them(daemon: Daemon) -> None:
    report, other = daemon.root / "kept.report", daemon.root / "other.report"
    asks = turns([text("half")], [need_help("which?"), text("asked")])
    first = await daemon.run(asks, goal="be done", max_turns=3, report_file=str(report))
    name = first["name"]
    assert (first["turn"], first["max_turns"]) == (2, 3)

    await daemon.must("continue", name=name, prompt="the left one")
    kept = await daemon.ended(name)
    assert (kept["goal"], kept["turn"], kept["max_turns"]) == ("be done", 2, 3)
    assert kept["report_file"] == str(report)
    assert report.read_text().count("which?") == 2

    await daemon.must(
        "continue",
        name=name,
        prompt=script(text("no end")),
        goal="be really done",
        max_turns=1,
        report_file=str(other),
    )
    changed = await daemon.ended(name)
    assert (changed["goal"], changed["turn"], changed["max_turns"]) == ("be really done", 1, 1)
    assert changed["stop_reason"] == "turn_cap"
    assert "be really done" not in report.read_text()
    assert "be really done" in other.read_text()

    await daemon.must("continue", name=name, prompt=script(text("x")), goal="", report_file="")
    without = await daemon.ended(name)
    assert (without["goal"], without["max_turns"], without["report_file"]) == (None, 1, None)
    assert without["stop_reason"] == "turn_ended"
    await daemon.notice(name, count=4)


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_the_brief_is_there_in_every_turn_byte_for_byte(daemon: Daemon, version: str) -> None:
    """R21; after it stands who reads the last message (issue 9, 9)."""
    says = script({"echo_brief": True}, version=version)
    brief = f"  Mind the gap.\r\nZoë \U0001f41d\t{says}"
    file = daemon.root / "exact.md"
    file.write_bytes(brief.encode())
    name = daemon.name()
    await daemon.must("start", name=name, prompt_file=str(file), goal="g", max_turns=2)
    file.unlink()

    assert (await daemon.ended(name))["result"] == brief + READER_NOTE
    await daemon.must("continue", name=name, prompt="and again", goal="")
    assert (await daemon.ended(name))["result"] == brief + READER_NOTE


async def test_a_session_is_not_continued_without_the_brief_it_had(daemon: Daemon) -> None:
    """R21: it went on without a word, and so did one whose record could not be read."""
    first = await daemon.run(script({"echo_brief": True}))
    name, kept = first["name"], daemon.state_dir / "sessions" / first["session_id"]
    (kept / "brief.md").rename(daemon.root / "away.md")
    said = await daemon.refused("continue", name=name, prompt="go on")
    assert f"{kept / 'brief.md'}: No such file" in said
    (daemon.root / "away.md").rename(kept / "brief.md")
    await daemon.must("continue", name=name, prompt="go on")
    assert (await daemon.ended(name))["result"] == first["result"]


async def test_a_record_that_cannot_be_read_is_named_and_not_passed_over(world: Daemon) -> None:
    """R21: claude found the session by its title, and its goal, limits and report were gone."""
    world.start()
    first = await world.run(script(text("x")), goal="g", max_turns=1)
    name = first["name"]
    record = world.state_dir / "sessions" / first["session_id"] / "record.json"
    whole = record.read_bytes()
    assert world.stop() == 0
    record.write_bytes(whole[:80])
    world.start()
    said = await world.refused("continue", name=name, prompt="go on")
    assert f"what is kept of subagent `{name}` cannot be read" in said
    assert str(world.state_dir / "names" / name) in said
    assert len(said.splitlines()) == 1
    record.write_bytes(whole)
    await world.must("continue", name=name, prompt="go on")
    assert (await world.ended(name))["goal"] == "g"


async def test_old_transcripts_of_ours_are_not_cleaned_up(daemon: Daemon) -> None:
    """R23: claude deletes what is older than 30 days when it starts, unless it is told not to."""
    first = await daemon.run(script(text("old")))
    (ours,) = (f for f in daemon.transcripts() if f.stem == first["session_id"])
    os.utime(ours, (0, 0))
    await daemon.run(script(text("new")))
    assert ours.exists()
    daemon.claude_by_hand()
    assert not ours.exists(), "a claude of the user's own cleans up, so this test can fail"
