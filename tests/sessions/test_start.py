"""Starting: what `start` answers, and when."""

from __future__ import annotations

import anyio
import pytest
from support.daemon import Daemon
from support.processes import is_alive
from support.stub import HANG, bash, script, text


async def test_a_start_answers_with_the_session_and_says_what_comes_next(daemon: Daemon) -> None:
    gate = daemon.gate()
    name = daemon.name()
    brief = daemon.brief(script({"wait_file": str(gate)}, text("done")))

    answer = await daemon.call("start", name=name, prompt_file=brief)

    reply = answer.data
    assert reply == {
        "text": answer.text,
        "name": name,
        "session_id": reply["session_id"],
        "dir": str(daemon.work_dir),
        "pid": reply["pid"],
        "archived": 0,
        "previous": None,
    }
    assert is_alive(reply["pid"])
    assert f"`{name}` is running" in answer.text
    # issue 9, 27: with the default sink a model hears nothing by itself
    assert "Call `wait`" in answer.text
    assert "nothing else tells you" in answer.text
    assert (await daemon.must("status", name=name))["state"] == "running"
    gate.touch()
    assert (await daemon.ended(name))["session_id"] == reply["session_id"]
    assert [file.stem for file in daemon.transcripts()].count(reply["session_id"]) == 1


async def test_a_run_that_dies_before_its_first_event_is_the_error_of_its_call(
    daemon: Daemon,
) -> None:
    """R20: with claude's own words; it owes no notice and leaves nothing."""
    before = set((daemon.state_dir / "sessions").iterdir())
    name = daemon.name()
    brief = daemon.brief(script(at_start=[{"stderr": "Not today.\n"}, {"exit": 1}]))

    said = await daemon.refused("start", name=name, prompt_file=brief)

    assert said.splitlines() == [said]
    assert name in said
    assert "Not today." in said
    assert "nothing is known" in await daemon.refused("status", name=name)
    assert name not in daemon.owed()
    assert daemon.notices(name) == []
    assert set((daemon.state_dir / "sessions").iterdir()) == before
    assert list((daemon.runtime_dir / "mcp").iterdir()) == []


async def test_a_run_that_is_killed_before_its_first_event_is_an_error_too(daemon: Daemon) -> None:
    brief = daemon.brief(script(at_start=[{"die": "SIGKILL"}]))
    name = daemon.name()
    said = await daemon.refused("start", name=name, prompt_file=brief)
    assert "SIGKILL" in said
    assert daemon.notices(name) == []


async def test_of_twenty_starts_of_one_name_exactly_one_wins(daemon: Daemon) -> None:
    name, brief = daemon.name(), daemon.brief(script(HANG))
    sessions_before = len(list((daemon.state_dir / "sessions").iterdir()))
    answers = []

    async def start() -> None:
        answers.append(await daemon.call("start", name=name, prompt_file=brief))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(start)

    won = [answer for answer in answers if not answer.is_error]
    assert len(won) == 1
    assert all("running already" in a.text for a in answers if a.is_error)
    assert len(list((daemon.state_dir / "sessions").iterdir())) == sessions_before + 1
    assert [command for command in daemon.children().values() if f"--name={name}" in command] != []
    ended = await daemon.must("interrupt", name=name)
    assert [process["pid"] for process in ended["processes"]] == [won[0].data["pid"]]
    await daemon.notice(name)


async def test_a_start_under_a_finished_name_archives_that_session(daemon: Daemon) -> None:
    first = await daemon.run(script(text("first")))
    name = first["name"]

    answer = await daemon.call("start", name=name, prompt_file=daemon.brief(script(text("second"))))

    assert answer.data["archived"] == 1
    assert "archived" in answer.text
    assert answer.data["session_id"] != first["session_id"]
    visible = [file.stem for file in daemon.transcripts()]
    assert first["session_id"] not in visible
    (archived,) = (daemon.claude_dir / "projects").glob("*/*.jsonl.archived")
    assert archived.name == f"{first['session_id']}.jsonl.archived"
    assert (await daemon.ended(name))["result"] == "second"
    assert not (daemon.state_dir / "sessions" / first["session_id"]).exists()


async def test_a_start_never_archives_a_session_that_somebody_else_started(daemon: Daemon) -> None:
    daemon.claude_by_hand("--name=theirs")
    taken = await daemon.must("continue", name="theirs", prompt="go on")
    await daemon.ended("theirs")

    reply = await daemon.must("start", name="theirs", prompt_file=daemon.brief())

    assert reply["archived"] == 0
    assert reply["session_id"] != taken["session_id"]
    assert taken["session_id"] in [file.stem for file in daemon.transcripts()]
    await daemon.ended("theirs")


@pytest.mark.parametrize("death", [{"exit": 1}, {"die": "SIGKILL"}])
async def test_a_failed_start_loses_nothing_of_the_session_before(
    daemon: Daemon, death: dict[str, object]
) -> None:
    first = await daemon.run(script(text("first")))
    name = first["name"]

    await daemon.refused("start", name=name, prompt_file=daemon.brief(script(at_start=[death])))

    assert await daemon.must("status", name=name) == {**first, "text": None} | {
        "text": (await daemon.call("status", name=name)).text
    }
    reply = await daemon.must("continue", name=name, prompt=script({"echo_history": True}))
    assert reply["session_id"] == first["session_id"]
    assert "Carry out the instructions" in (await daemon.ended(name))["result"]
    await daemon.notice(name, count=2)


async def test_paths_count_from_the_directory_and_that_from_the_work_dir(daemon: Daemon) -> None:
    (daemon.work_dir / "sub").mkdir()
    (daemon.work_dir / "sub" / "brief.md").write_text(script(bash("pwd"), text("done")))
    name = daemon.name()

    reply = await daemon.must(
        "start", name=name, prompt_file="brief.md", dir="sub", report_file="report.md"
    )

    assert reply["dir"] == str(daemon.work_dir / "sub")
    session = await daemon.ended(name)
    assert session["report_file"] == str(daemon.work_dir / "sub" / "report.md")
    assert (daemon.work_dir / "sub" / "report.md").exists()
