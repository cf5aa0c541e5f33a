"""Answers about several sessions: of a size that a model is shown whole, and each thing said once.

Measured with Claude Code 2.1.332: of a tool's answer that is longer than about 50,000 characters
its model sees the first 2 KB and the name of a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hive_subagent.messages.endings import quoted
from hive_subagent.messages.sessions import brief, ended, line
from hive_subagent.messages.text import fit_by, fit_json, json_bytes, shares
from hive_subagent.models.session import Frozen, ProcessInfo, SessionView, State
from hive_subagent.system.sanitize import on_lines, on_one_line

ANSWER_LIMIT = 40_000
"""Bytes as JSON of the text of such an answer: what is shown whole, with some to spare."""

STRUCTURED_LIMIT = 60_000
"""Bytes as JSON of its structured content beside the text, which Claude Code does not get."""

FRAME = 1_500
"""Of these, for all that is no session."""

WORDS_AT_LEAST = 8_000
"""Of these, for the words of the sessions: more sessions than fit beside that are only counted."""

GOAL_SHOWN = 200
"""Bytes of a goal where not everything fits: its owner knows it."""

PROCESSES_LIMIT = 20_000
"""Bytes of JSON of the processes in an answer."""

SHORT = 200
"""Characters of its words that a list for programs has of one session."""

MOST = 64
"""Sessions that are looked at for one answer; more never fit."""

Transcript = Callable[[SessionView], str | None]
"""Finds claude's file of a session."""

_SAID = ("result", "message", "last_text", "goal")


@dataclass(frozen=True)
class Several:
    """An answer about several sessions; `left_out` counts those that are not in `sessions`."""

    sessions: list[SessionView]
    left_out: int
    text: str


def several(
    views: Sequence[SessionView],
    *,
    lead: str = "",
    further: int = 0,
    transcript: Transcript = lambda view: None,
) -> Several:
    """As many of `views` as fit, in their order, with their words as far as those fit.

    `lead` opens the text; `further` sessions are counted that nobody looked at.
    """
    text = _text(views, lead, further)
    return _structured(views, further, transcript, text)


def briefly(
    views: Sequence[SessionView], *, further: int = 0, transcript: Transcript = lambda view: None
) -> Several:
    """As `several`, with a text of one line for each session and none of their words."""
    lines = [on_lines(brief(view)) for view in views]
    if any(view.result or view.message or view.result_cut for view in views):
        lines.append("`status` with a name tells what that one said.")
    if further:
        lines.append(f"{further} more ended earlier: `status` with a name tells of one.")
    return _structured(views, further, transcript, "\n".join(lines))


def in_short(view: SessionView) -> SessionView:
    """A session with the beginning of its words only, one of many in a list for a program."""
    changes: dict[str, object] = {}
    for what, words in _words_of(view).items():
        if len(words) > SHORT:
            changes |= {what: words[:SHORT], **({"result_cut": True} if what == "result" else {})}
    return view.model_copy(update=changes) if changes else view


def _text(views: Sequence[SessionView], lead: str, further: int) -> str:
    """Whole by itself: how each of them stands or ended, with its words."""
    room = ANSWER_LIMIT - FRAME - json_bytes(lead)
    shown: list[SessionView] = []
    for view in views:
        said = dict.fromkeys(_words_of(view), "x")
        size = json_bytes(_about(view.model_copy(update=said | {"result_cut": True})))
        if size <= room - WORDS_AT_LEAST:
            room -= size
            shown.append(view)
    shortened = _shortened_for_text(shown, room)
    parts = [lead] if lead else []
    parts += [_about(view) for view in shortened]
    if shortened != shown:
        parts.append("Where something is cut, `status` with the name tells more of it.")
    if left_out := len(views) - len(shown) + further:
        parts.append(f"{left_out} more did not fit here: `status` with a name tells of one.")
    return "\n".join(parts)


def _about(view: SessionView) -> str:
    unfinished = view.state in (State.QUEUED, State.STARTING, State.RUNNING)
    return on_lines(line(view) if unfinished or view.stop_reason is None else ended(view))


def _words_of(view: SessionView) -> dict[str, str]:
    return {what: words for what in _SAID if (words := getattr(view, what))}


def _shortened_for_text(views: Sequence[SessionView], room: int) -> list[SessionView]:
    """With their words cut alike to `room` bytes of JSON in all."""
    said = [(at, *each) for at, view in enumerate(views) for each in _words_of(view).items()]
    wanted = [
        min(_as_shown(words), GOAL_SHOWN) if what == "goal" else _as_shown(words)
        for _, what, words in said
    ]
    changes: dict[int, dict[str, object]] = {at: {} for at in range(len(views))}
    for (at, what, words), share in zip(said, shares(wanted, room), strict=True):
        kept = fit_by(_as_shown, words, share)
        if kept == words:
            continue
        changes[at] |= {what: kept, "result_cut": True} if what == "result" else {what: f"{kept}…"}
    return [view.model_copy(update=changes[at]) for at, view in enumerate(views)]


def _as_shown(words: str) -> int:
    """The most bytes of JSON that they take in a text, as a quotation or on one line."""
    return max(json_bytes(quoted(on_lines(words))), json_bytes(on_one_line(words)))


def _structured(
    views: Sequence[SessionView], further: int, transcript: Transcript, text: str
) -> Several:
    room = STRUCTURED_LIMIT - FRAME
    shown: list[SessionView] = []
    for view in views:
        size = _size(view.model_copy(update=dict.fromkeys(_SAID)))
        if size <= room - WORDS_AT_LEAST:
            room -= size
            shown.append(view)
    left_out = len(views) - len(shown) + further
    return Several(_with_words(shown, room, transcript), left_out, text)


def fit_processes(processes: Sequence[ProcessInfo]) -> tuple[list[ProcessInfo], int]:
    """As many as an answer takes, and how many are left out."""
    room, shown = PROCESSES_LIMIT, 0
    for process in processes:
        room -= _size(process)
        if room < 0:
            break
        shown += 1
    return list(processes[:shown]), len(processes) - shown


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


def _size(model: Frozen) -> int:
    # with a blank behind each comma and colon, as some write it, and the comma behind the whole
    dumped = json.dumps(model.model_dump(mode="json"), ensure_ascii=False)
    return len(dumped.encode("utf-8", "surrogatepass")) + 2
