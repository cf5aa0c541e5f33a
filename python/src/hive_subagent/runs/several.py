"""Answers about several sessions: of a size that a model is shown whole, and each thing said once.

Measured with Claude Code 2.1.332: of a tool's answer that is longer than about 50,000 characters
its model sees the first 2 KB and the name of a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hive_subagent.models import Frozen, ProcessInfo, SessionView
from hive_subagent.runs.text import fit_json, json_bytes, shares
from hive_subagent.runs.wording import line
from hive_subagent.visible import on_lines

ANSWER_LIMIT = 40_000
"""Bytes of JSON of such an answer, its text included: what is shown whole, with some to spare."""

FRAME = 1_500
"""Of these, for all that is no session."""

WORDS_AT_LEAST = 8_000
"""Of these, for what the sessions said: more sessions than fit beside that are only counted."""

GOAL_SHOWN = 200
"""Bytes of a goal where not everything fits: its owner knows it."""

PROCESSES_LIMIT = 20_000
"""Bytes of JSON of the processes in an answer."""

MOST = 64
"""Sessions that are looked at for one answer; more never fit."""

_SAID = ("result", "message", "goal")


@dataclass(frozen=True)
class Several:
    """What is told of several sessions; `left_out` counts those that did not fit."""

    sessions: list[SessionView]
    left_out: int
    text: str


def several(
    views: Sequence[SessionView],
    *,
    lead: str = "",
    further: int = 0,
    transcript: Callable[[SessionView], str | None] = lambda view: None,
) -> Several:
    """Tell of as many of `views` as fit, in their order, with what each said as far as it fits.

    `lead` opens the text; `further` sessions are counted that nobody looked at; `transcript` finds
    claude's file of a session.
    """
    room = ANSWER_LIMIT - FRAME - json_bytes(lead)
    told: list[SessionView] = []
    lines: list[str] = []
    for view in views:
        about = on_lines(line(view))
        size = _size(view.model_copy(update=dict.fromkeys(_SAID))) + json_bytes(about)
        if size <= room - WORDS_AT_LEAST:
            room -= size
            told.append(view)
            lines.append(about)
    left_out = len(views) - len(told) + further
    told = _with_words(told, room, transcript)
    text = "\n".join([*([lead] if lead else []), *lines, *_where(told, left_out)])
    return Several(told, left_out, text)


def fit_processes(processes: Sequence[ProcessInfo]) -> tuple[list[ProcessInfo], int]:
    """As many as an answer takes, and how many are left out."""
    room, told = PROCESSES_LIMIT, 0
    for process in processes:
        room -= _size(process)
        if room < 0:
            break
        told += 1
    return list(processes[:told]), len(processes) - told


def _with_words(
    views: Sequence[SessionView], room: int, transcript: Callable[[SessionView], str | None]
) -> list[SessionView]:
    said = [
        (index, name, words)
        for index, view in enumerate(views)
        for name in _SAID
        if (words := getattr(view, name)) is not None
    ]
    sizes = [json_bytes(words) for _, _, words in said]
    if sum(sizes) <= room:
        return list(views)
    wanted = [
        min(size, GOAL_SHOWN) if name == "goal" else size
        for size, (_, name, _) in zip(sizes, said, strict=True)
    ]
    files: dict[int, str | None] = {}
    while True:
        naming = sum(json_bytes(file) for file in files.values() if file)
        granted = shares(wanted, room - naming)
        cut = {
            index
            for (index, name, _), size, share in zip(said, sizes, granted, strict=True)
            if name == "result" and share < size and index not in files
        }
        if not cut:
            break
        # to name their files leaves less for the others
        files |= {index: transcript(views[index]) for index in cut}
    if naming > room // 2:
        files, granted = {}, shares(wanted, room)
    changes: dict[int, dict[str, object]] = {index: {} for index in range(len(views))}
    for (index, name, words), share in zip(said, granted, strict=True):
        if name == "result":
            if (kept := fit_json(words, share)) != words:
                changes[index] |= {"result_cut": True, "transcript": files.get(index)}
        else:
            kept = _shortened(words, share)
        changes[index][name] = kept
    return [view.model_copy(update=changes[index]) for index, view in enumerate(views)]


def _shortened(words: str, share: int) -> str:
    """With a mark where it is not the whole."""
    if json_bytes(words) <= share:
        return words
    mark = "…"
    return fit_json(words, share - len(mark.encode())) + mark


def _where(views: Sequence[SessionView], left_out: int) -> list[str]:
    """Where to find what the lines do not say."""
    told = []
    if any(view.result for view in views):
        told.append("What each answered stands in `sessions[].result`.")
    if any(view.message for view in views):
        told.append("A question, a reason or an error stands in `sessions[].message`.")
    if any(view.result_cut for view in views):
        told.append("Where `result_cut` is true, the file `transcript` holds the whole answer.")
    if left_out:
        told.append(f"{left_out} more did not fit here: `status` with a name tells of one.")
    return [" ".join(told)] if told else []


def _size(model: Frozen) -> int:
    # with a blank behind each comma and colon, as some write it, and the comma behind the whole
    dumped = json.dumps(model.model_dump(mode="json"), ensure_ascii=False)
    return len(dumped.encode("utf-8", "surrogatepass")) + 2
