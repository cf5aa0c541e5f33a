"""What a subagent says and does, a line each."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import batch_of_events

from hive_subagent.claude.conversation import Conversation
from hive_subagent.intervention import output as module
from hive_subagent.intervention.folder import Folder
from hive_subagent.intervention.output import LINE_LIMIT, Output


def spoken(*parts: dict[str, Any], kind: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"content": list(parts)}, **more}


def said_in(tmp_path: Path, *events: dict[str, Any]) -> list[str]:
    conversation = Conversation()
    conversation.stream.follow(Output(Folder(tmp_path)).hear)
    for event in events:
        conversation.take(batch_of_events(event))
    file = tmp_path / "output.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    return [line[len("00:00:00 ") :] for line in lines]


def test_each_text_and_each_tool_is_a_line(tmp_path: Path) -> None:
    assert said_in(
        tmp_path,
        spoken({"type": "text", "text": "one\ntwo"}),
        spoken({"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}),
        spoken({"type": "tool_result", "content": "x"}, kind="user"),
        spoken({"type": "tool_result", "is_error": True}, kind="user"),
        {"type": "result", "terminal_reason": "completed"},
    ) == [
        "says: one\\ntwo",
        'tool opens: Bash {"command": "ls"}',
        "tool closes: done",
        "tool closes: with an error",
        "turn ends: completed",
    ]


def test_a_subagents_words_and_our_own_are_left_out(tmp_path: Path) -> None:
    inner = spoken({"type": "text", "text": "x"}, parent_tool_use_id="t")
    ours = spoken({"type": "text", "text": "x"}, kind="user", isReplay=True)
    assert said_in(tmp_path, inner, ours) == []


def shown(line: str) -> str:
    """How a line stands in the file, character by character."""
    cut = line[:LINE_LIMIT].replace("\\", "\\\\").encode("utf-16", "surrogatepass")
    escaped = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode()
        for c in cut.decode("utf-16", "replace")
    )
    return escaped.encode()[:LINE_LIMIT].decode(errors="ignore")


PIECES = st.text() | st.sampled_from(["\n", "\\", "\x7f", "\x00", "é", "x" * LINE_LIMIT])


@given(st.lists(st.lists(PIECES, max_size=3).map("".join), min_size=1, max_size=4))
def test_whatever_is_said_each_stays_on_one_line_of_bounded_size(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "channels" / "name"
        folder.parent.mkdir()
        said = [spoken({"type": "text", "text": text}) for text in texts]
        Output(Folder(folder)).hear(batch_of_events(*said))
        data = (folder / "output.txt").read_bytes()
    lines = [line[len(b"00:00:00 ") :].decode() for line in data.split(b"\n")[:-1]]
    assert lines == [shown(f"says: {text}") for text in texts]


def test_a_malformed_event_costs_nothing(tmp_path: Path) -> None:
    for content in ("text", None, [None, 7, {"type": "text"}, {"type": "tool_use"}]):
        said_in(tmp_path, {"type": "assistant", "message": {"content": content}})
    said_in(tmp_path, {"type": "assistant", "message": None}, {})


def test_the_file_begins_anew_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FILE_LIMIT", 1_000)
    lines = said_in(tmp_path, *[spoken({"type": "text", "text": f"line {n}"}) for n in range(90)])
    assert lines[-1] == "says: line 89"
    assert (tmp_path / "output.txt").stat().st_size <= 1_000


def test_a_link_in_its_place_is_not_followed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    target = tmp_path / "target"
    target.write_text("keep")
    (tmp_path / "output.txt").symlink_to(target)
    output = Output(Folder(tmp_path))
    output.tell("one")
    output.tell("two")
    assert target.read_text() == "keep"
    assert len([r for r in caplog.records if "not written any more" in r.message]) == 1
