"""What claude prints, and fails to print, over a whole run."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from support.house import House
from support.processes import is_alive, until
from support.stub import HANG, NEW, OLD, bash, script, text

from hive_subagent.claude import framing
from hive_subagent.claude.pipes import STDERR_KEPT
from hive_subagent.claude.stream import Batch

MIB = 1024 * 1024


def raw(data: bytes) -> dict[str, Any]:
    return {"raw_b64": base64.b64encode(data).decode()}


async def test_a_line_of_many_megabytes_is_read(home: House) -> None:
    """R1: it raised in a reader with a limit and killed the turn."""
    view = await home.run(script({"big_text": 8 * MIB}, {"bash": "true"}, text("done")))
    assert view.result == "done"


async def test_a_line_over_the_cap_is_left_out_and_the_turn_goes_on(
    home: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R1: 64 MiB, here less so that it is quick."""
    assert framing.MAX_LINE == 64 * MIB
    defaults = framing.LineFramer.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "max_line", MIB // 2)
    live = await home.begin(script({"big_text": MIB}, text("done")))
    assert live.run is not None
    claude = live.run.claude
    assert claude is not None
    view = await home.ended()
    assert (view.state, view.result) == ("idle", "done")
    assert claude.skipped_lines == 1


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_result_over_the_cap_ends_the_run_as_failed(
    home: House,
    version: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """R1, R2: claude waited for a next message, and the run for the result that was left out."""
    defaults = framing.LineFramer.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "max_line", MIB // 2)
    live = await home.begin(script({"big_text": MIB}, version=version))
    view = await home.ended()
    assert view.state == "failed"
    assert "its result is a line of over" in (view.message or "")
    assert "is left out" in caplog.text
    assert live.run is not None
    assert live.run.claude is not None
    assert not is_alive(live.run.claude.pid)


async def test_a_reader_that_breaks_ends_the_run_as_failed_and_the_session_goes_on(
    home: House,
) -> None:
    """R2: the session went on looking alive."""
    gate = home.gate()
    live = await home.begin(script({"wait_file": str(gate)}, text("x"), HANG))
    assert live.run is not None
    assert live.run.claude is not None
    conversation = live.run.claude.conversation

    def broken(batch: Batch) -> None:
        raise MemoryError("no room")

    conversation.take = broken  # type: ignore[method-assign]
    gate.touch()
    view = await home.ended()
    assert view.state == "failed"
    assert "reading claude's output failed" in (view.message or "")
    assert not is_alive(live.run.claude.pid)
    await home.service.continue_("agent", script(text("again")))
    assert (await home.ended()).result == "again"


async def test_garbage_between_the_lines_is_passed_over(home: House) -> None:
    """R3: plain text, unknown types, half an object, other bytes than UTF-8."""
    garbage = [
        b"npm WARN deprecated\n",
        b'{"type":"assistant","message":{"content":[\n',
        b'{"type":"of another age","result":true}\n',
        b'[1,2]\nnull\n42\n"result"\n\n\r\n',
        b'\xff\xfe\x00{"type":"result"}\n',
        "\u0085\u2028\n".encode(),
        b"[" * 100_000 + b"\n",
        b'{"type":"result","is_error":\n',
        b'{"type":"assistant","message":null}\n{"type":"user","message":{"content":[1,null]}}\n',
    ]
    live = await home.begin(script(*map(raw, garbage), text("done")))
    assert live.run is not None
    view = await home.ended()
    assert (view.state, view.result) == ("idle", "done")


async def test_plain_text_counts_as_life(home: House) -> None:
    """R3."""
    gate = home.gate()
    live = await home.begin(script({"wait_file": str(gate)}, {"raw": "hm\n"}, HANG))
    assert live.run is not None
    assert live.run.claude is not None
    conversation = live.run.claude.conversation
    before, lines = conversation.last_line_at, conversation.lines
    gate.touch()
    await until(lambda: conversation.lines > lines)
    assert conversation.last_line_at > before
    await home.service.interrupt("agent")


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_torn_answer_with_exit_zero_is_no_success(home: House, version: str) -> None:
    """R4: cut at 65,536 bytes."""
    view = await home.run(script({"truncate": 65536}, version=version))
    assert view.state == "failed"
    assert view.result is None
    assert view.message == "claude exited with 0 and gave no result"


async def test_a_chatty_stderr_stops_nothing_and_its_end_is_kept(home: House) -> None:
    """R5: nobody read it, and its pipe filled."""
    noise = {"stderr": "x" * 1023 + "\n", "repeat": 512}
    assert (await home.run(script(noise, text("done")))).result == "done"
    view = await home.run(script(noise, {"stderr": "the last words\n"}, {"exit": 2}))
    assert view.state == "failed"
    told = "x\nthe last words (claude exited with 2 and gave no result)"
    assert (view.message or "").endswith(told)
    live = await home.begin(script(noise, {"stderr": "the last words\n"}, HANG))
    assert live.run is not None
    claude = live.run.claude
    assert claude is not None
    await until(lambda: claude.stderr.endswith("the last words"))
    assert len(claude.stderr) <= STDERR_KEPT
    await home.service.interrupt("agent")


async def test_the_words_of_a_failure_come_from_the_end_of_stderr(home: House) -> None:
    """R5, R20."""
    view = await home.run(script({"stderr": "Error: it is full\n"}, {"exit": 2}))
    assert view.message == "Error: it is full (claude exited with 2 and gave no result)"


async def test_a_process_that_stays_after_its_result_is_ended_and_the_result_stays(
    home: House,
) -> None:
    """R6, R7: stdin is closed only after the result."""
    live = await home.begin(script({"linger": True}, text("done")))
    view = await home.ended()
    assert (view.state, view.result) == ("idle", "done")
    assert live.run is not None
    assert live.run.claude is not None
    assert not is_alive(live.run.claude.pid)


async def test_a_grandchild_that_holds_the_pipes_does_not_hold_up_the_end(home: House) -> None:
    """R7, R10."""
    pid_file = home.gate()
    held = {"spawn": "exec sleep 1000", "setsid": True, "hold_stdout": True}
    view = await home.run(
        script({**held, "ignore_term": True, "pid_file": str(pid_file)}, text("done"))
    )
    assert view.result == "done"
    assert not is_alive(int(pid_file.read_text()))


async def test_an_answer_of_five_megabytes_is_whole_before_it_is_cut(home: House) -> None:
    """R7: 2.1.197 loses what nobody has read when stdin ends too early."""
    view = await home.run(script({"big_text": 5 * MIB, "of": "é"}, version=OLD))
    assert view.stop_reason == "turn_ended"
    assert view.result == "é" * 4000


async def test_a_process_that_closes_its_output_is_ended_as_failed(home: House) -> None:
    """R2, R7: nothing more can be heard of it, however long it lives."""
    view = await home.run(script(text("x"), {"close_stdout": True}, HANG))
    assert (view.state, view.message) == ("failed", "claude's output ended without a result")


async def test_a_prompt_of_megabytes_arrives_whole(home: House) -> None:
    """R7: much more than a pipe holds at once."""
    await home.run(script(text("x")))
    prompt = script({"echo_prompt": True}) + "é" * (4 * MIB)
    await home.service.continue_("agent", prompt)
    view = await home.ended()
    assert view.result == prompt[: len(view.result or "")]
    transcript = next((home.root / "claude" / "projects").glob("*/*.jsonl"))
    assert len(transcript.read_bytes()) > 8 * MIB


@pytest.mark.parametrize("quiet", [HANG, bash("perl -e 'sleep 100'")], ids=["API", "tool"])
async def test_nothing_is_killed_for_being_quiet(home: House, quiet: dict[str, Any]) -> None:
    """R8, R9: the age climbs, the open tool is told, and that is all."""
    live = await home.begin(script(quiet))
    tool = "Bash" if quiet is not HANG else None
    await until(lambda: (live.view().open_tool is not None) == (tool is not None))
    age = live.view().last_event_age_s
    assert age is not None
    await until(lambda: (live.view().last_event_age_s or 0) > age + 0.05, "a greater age")
    view, said = await home.service.status("agent")
    assert view.state == "running"
    assert (view.open_tool.name if view.open_tool else None) == tool
    assert "last sign of life" in said
    assert ("The tool Bash (perl -e 'sleep 100') has been open" in said) == (tool is not None)
    await home.service.interrupt("agent")


async def test_a_prompt_never_becomes_a_command_or_a_flag(home: House) -> None:
    """R30."""
    echo = script({"echo_prompt": True})
    for words in ("/clear", "/compact now", "-p", "--help", "/help", "!ls", "# note"):
        await home.service.start("agent", home.brief(echo), trigger=words)
        view = await home.ended()
        assert (view.result or "").strip() == words
        await home.service.continue_("agent", f"{words} {echo}")
        assert (await home.ended()).state == "idle"
        assert json.dumps(words)[1:-1] in json.dumps(view.result)
