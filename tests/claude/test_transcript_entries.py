"""What a transcript tells, page by page, whatever a subagent has written into it (issue 13, 8)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hive_subagent.claude import transcript_entries
from hive_subagent.claude.transcript_entries import Entry, Page, read_page

ID = "0b0c2a52-9f0a-4c55-8a1f-5a1c0b7f9c3e"


def line(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    at = "2026-12-01T14:39:23.546Z"
    return {"type": kind, "message": {"content": content}, "timestamp": at, **more}


def call(number: int, name: str, **given: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
    return line("assistant", [block])


def result(number: int, content: Any, *, is_error: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content}
    return line("user", [block | ({"is_error": True} if is_error else {})])


def said(text: str) -> dict[str, Any]:
    return line("assistant", [{"type": "text", "text": text}])


class Transcript:
    """One that a test writes; `page` reads it."""

    def __init__(self, root: Path) -> None:
        self.config_dir = root / "claude"
        self.path = self.config_dir / "projects" / "-srv-app" / f"{ID}.jsonl"
        self.path.parent.mkdir(parents=True)
        self.path.touch()

    def write(self, *lines: dict[str, Any] | bytes) -> None:
        with self.path.open("ab") as file:
            for each in lines:
                file.write(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n")

    def page(self, last: int = 100, before: int | None = None, search: str | None = None) -> Page:
        return read_page(self.config_dir, self.path, last=last, before=before, search=search)

    def entries(self, **asked: Any) -> list[Entry]:
        return self.page(**asked).entries

    def told(self, **asked: Any) -> list[tuple[Any, ...]]:
        return [(e.turn, e.kind, e.tool, e.text) for e in self.entries(**asked)]


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return Transcript(tmp_path)


def test_prompts_texts_calls_results_and_errors_are_told_with_their_turn(
    transcript: Transcript,
) -> None:
    """The shapes are those of 2.1.197 and 2.1.332."""
    transcript.write(
        {"type": "queue-operation", "operation": "enqueue", "content": "do it"},
        line("user", "do it"),
        {"type": "api-request-blob", "message": {"role": "user", "content": "left out"}},
        line("assistant", [{"type": "thinking", "thinking": "hm"}]),
        said("I look"),
        call(1, "Bash", command="ls\n-l", description="d"),
        result(1, "a\nb"),
        call(2, "Read", file_path="/x"),
        result(2, [{"type": "text", "text": "no"}, {"type": "image"}], is_error=True),
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "in passing"}},
        line("user", [{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        line("user", "<skill>", isMeta=True),
        line("user", "aside", isSidechain=True),
        line("user", "go on"),
        line("assistant", [{"type": "text", "text": "API Error: 400"}], isApiErrorMessage=True),
        line("user", "so far", isCompactSummary=True),
    )
    assert transcript.told() == [
        (1, "prompt", None, "do it"),
        (1, "text", None, "I look"),
        (1, "tool_call", "Bash", "ls\\n-l"),
        (1, "tool_result", "Bash", "a\nb"),
        (1, "tool_call", "Read", "/x"),
        (1, "tool_error", "Read", "no\n[image]"),
        (1, "prompt", None, "in passing"),
        (1, "interrupted", None, "[Request interrupted by user for tool use]"),
        (2, "prompt", None, "go on"),
        (2, "error", None, "API Error: 400"),
        (2, "compacted", None, "so far"),
    ]
    assert transcript.entries()[0].at == "2026-12-01T14:39:23.546Z"


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_join_to_the_whole_while_the_file_grows(transcript: Transcript, size: int) -> None:
    """Several blocks of one line have positions of their own."""
    blocks = [{"type": "text", "text": f"block {n}"} for n in range(5)]
    transcript.write(line("user", "do it"), line("assistant", blocks), said("x"), said("y"))
    whole = transcript.entries()
    assert len(whole) == 8
    assert len({entry.position for entry in whole}) == 8
    joined: list[Entry] = []
    page = transcript.page(last=size)
    while True:
        joined = [*page.entries, *joined]
        if not page.earlier:
            break
        transcript.write(said("later"))
        page = transcript.page(last=size, before=page.entries[0].position)
    assert joined == whole


def test_a_search_finds_whole_inputs_and_results_and_shows_the_place(
    transcript: Transcript,
) -> None:
    deep = {"edits": [{"old": "x" * 5_000, "new": "the NEEDLE there"}]}
    transcript.write(
        line("user", "find it"),
        call(1, "Edit", file_path="/x", **deep),
        result(1, "y" * 50_000 + "Needle" + "z" * 50_000),
        said("nothing"),
        call(2, "mcp__needle__x"),
    )
    edit, found, tool = transcript.entries(search="needle")
    assert (edit.kind, found.kind, tool.kind) == ("tool_call", "tool_result", "tool_call")
    assert "NEEDLE there" in edit.text
    assert edit.text.startswith("…")
    assert "Needle" in found.text[:300]
    assert (edit.cut, found.cut, tool.cut) == (True, True, False)
    assert [e.kind for e in transcript.entries(search="FIND it", last=1)] == ["prompt"]
    assert transcript.entries(search="absent") == []


@pytest.mark.parametrize(
    "bad",
    [
        b'{"type":"user"\n',
        b'"user"\n',
        b'["user"]\n',
        b'{"type":"user","message":7}\n',
        b'{"type":"user","message":{"content":{"a":1}}}\n',
        b'{"type":"user","message":{"content":[7,null,{"type":"text","text":[1]},{"type":[2]}]}}\n',
        b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":{},"name":[]}]}}\n',
        b'{"type":"attachment","attachment":"queued_command"}\n',
        b'{"type":"user","message":{"content":"\\ud800"},"timestamp":{"user":1}}\n',
        b'"user"' + b"[" * 100_000 + b"\n",
        b'{"type":"user","message":{"content":' + b"[" * 90_000 + b"]" * 90_000 + b"}}\n",
        b'{"type":"user","x":[' + b"[]," * 250_000 + b"[]]}\n",
        b"\xff\xfe user \0\n",
        b"\n",
    ],
    ids=range(14),
)
def test_a_line_that_makes_no_sense_hides_no_other(transcript: Transcript, bad: bytes) -> None:
    transcript.write(said("before"), bad, said("after"))
    told = transcript.told()
    assert told[0][-1] == "before"
    assert told[-1][-1] == "after"
    assert len(told) <= 3


def test_a_line_of_too_many_values_is_not_made_into_objects(transcript: Transcript) -> None:
    """They would take thirty times the memory of the line."""
    transcript.write(line("user", [{"type": "text", "text": "x", "more": [[]] * 250_000}]))
    assert transcript.told() == [
        (0, "unreadable", None, "a line that is no JSON, or of too many values")
    ]


def test_a_line_without_end_is_measured_and_not_kept(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_entries, "LONGEST_LINE", 1_000)
    transcript.write(said("before"), said("x" * 5_000), said("after"))
    length = len(json.dumps(said("x" * 5_000))) + 1
    assert [text for *_, text in transcript.told()] == [
        "before",
        f"a line of {length} bytes",
        "after",
    ]


def test_a_last_line_that_is_not_whole_is_left_for_later(transcript: Transcript) -> None:
    whole = json.dumps(said("late")).encode() + b"\n"
    transcript.write(said("before"), whole[:40])
    assert [e.text for e in transcript.entries()] == ["before"]
    transcript.write(whole[40:])
    assert [e.text for e in transcript.entries()] == ["before", "late"]


def test_of_a_huge_file_the_end_is_read_and_turns_are_not_counted(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_entries, "MOST_READ", 10_000)
    transcript.write(*(line("user", f"number {n} {'x' * 100}") for n in range(200)))
    entries = transcript.entries()
    assert 20 < len(entries) < 100
    assert entries[-1].text.startswith("number 199 ")
    assert {entry.turn for entry in entries} == {None}
    earlier = transcript.entries(before=entries[0].position, last=1)
    assert int(entries[0].text.split()[1]) == int(earlier[0].text.split()[1]) + 1


def test_no_link_is_followed_and_no_pipe_is_waited_for(transcript: Transcript) -> None:
    secret = transcript.config_dir / "secret"
    secret.write_text(json.dumps(said("secret")) + "\n")
    path, folder = transcript.path, transcript.path.parent
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        transcript.page()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        transcript.page()
    path.unlink()
    folder.rmdir()
    elsewhere = transcript.config_dir / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / path.name).write_text(json.dumps(said("secret")) + "\n")
    folder.symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        transcript.page()


def test_the_folder_of_all_projects_may_be_a_link_of_the_operator(
    transcript: Transcript, tmp_path: Path
) -> None:
    transcript.write(said("here"))
    projects = transcript.config_dir / "projects"
    projects.rename(tmp_path / "moved")
    projects.symlink_to(tmp_path / "moved")
    assert [e.text for e in transcript.entries()] == ["here"]


def test_an_entry_is_kept_only_in_part(transcript: Transcript) -> None:
    transcript.write(said("x" * 1_000_000))
    (entry,) = transcript.entries()
    assert entry.cut
    assert len(entry.text) == transcript_entries.KEPT
