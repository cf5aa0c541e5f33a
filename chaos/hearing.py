"""What a model heard of its owner's words, by its transcript, and whether that is right. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from chaos.ledger import Notice

_TOKEN = re.compile(r"word-(\d+);")

State = Literal["queued", "delivered", "missed", "file", "withdrawn", "refused", "lost"]
"""What the owner knows: the receipt, that its file was taken or not, or that no answer came."""


@dataclass
class Word:
    """One intervention. `run` counts the runs of its session from 1; None: before one had begun."""

    number: int
    session_id: str
    kind: Literal["info", "redirect", "stop"]
    way: str
    run: int | None
    sent: float = 0.0
    answered: float = 0.0
    state: State = "lost"
    id: str = ""

    @property
    def token(self) -> str:
        return f"word-{self.number};"


@dataclass(frozen=True)
class Heard:
    """A word in a transcript, and in which run."""

    number: int
    run: int


def heard_in(transcript: Path) -> list[Heard]:
    """Every word that the model was told, in the order in which it was."""
    found, run = [], 0
    for line in transcript.read_bytes().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:  # torn by a SIGKILL
            continue
        # each process begins with the session's title
        run += entry.get("type") == "custom-title"
        for text in _told(entry):
            found += [Heard(int(number), run) for number in _TOKEN.findall(text)]
    return found


def runs_in(transcript: Path) -> int:
    """How many runs a session has had."""
    return transcript.read_bytes().count(b'"type":"custom-title"')


def _told(entry: Mapping[str, Any]) -> Iterator[str]:
    if entry.get("type") == "attachment" and "content" in entry["attachment"]:
        yield from entry["attachment"]["content"]
    if entry.get("type") == "user":
        content = entry["message"]["content"]
        parts = [{"text": content}] if isinstance(content, str) else content
        yield from (part.get("text", "") for part in parts)


def judge(
    words: Sequence[Word], heard: Mapping[str, Sequence[Heard]], notices: Iterable[Notice]
) -> tuple[list[str], Counter[str]]:
    """Everything that is wrong, and how often each thing that is right came."""
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    told: dict[str, str] = defaultdict(str)
    for notice in notices:
        told[str(notice["session_id"])] += f"{notice['text']}\n"
    sessions: dict[str, list[Word]] = defaultdict(list)
    for word in words:
        sessions[word.session_id].append(word)
    for session_id, spoken in sessions.items():
        by_number: dict[int, list[Heard]] = defaultdict(list)
        for each in heard.get(session_id, ()):
            by_number[each.number].append(each)
        for word in spoken:
            verdict = _verdict(word, by_number[word.number], told[session_id])
            counts[f"{word.kind}: {verdict}"] += 1
            if verdict.startswith("WRONG"):
                wrong.append(f"{verdict}: {word}, heard {by_number[word.number]}")
        wrong += _out_of_order(spoken, [each.number for each in heard.get(session_id, ())])
    return wrong, counts


def _verdict(word: Word, heard: Sequence[Heard], told: str) -> str:
    if word.state in ("withdrawn", "refused"):
        return "WRONG: heard all the same" if heard else word.state
    if word.kind == "stop":
        return _verdict_on_stop(word, told)
    if len(heard) > 1:
        return "WRONG: doubled"
    if not heard:
        return "no answer" if word.state == "lost" else "WRONG: lost"
    later = word.run is not None and heard[0].run > word.run
    if word.state == "delivered" and later:
        return "WRONG: not delivered in the run that said so"
    said = f"{word.kind} {word.id} " in told if word.id else f"({word.token}" in told
    if word.run is not None and word.state != "lost" and later is not said:
        return f"WRONG: heard {'later' if later else 'at once'}, told as missed: {said}"
    return "told as missed, heard in a later run" if said else "heard"


def _verdict_on_stop(word: Word, told: str) -> str:
    if f"stopped by its owner: {word.token}" in told:
        return "carried out"
    if f"({word.token})." in told:
        return "told as missed"
    return "no answer" if word.state == "lost" else "WRONG: nobody was told of it"


def _out_of_order(spoken: Sequence[Word], heard: Sequence[int]) -> Iterator[str]:
    """Where one was spoken before another surely, and heard after it."""
    place = {number: at for at, number in enumerate(heard)}
    for first in spoken:
        for second in spoken:
            if first.number in place and second.number in place:
                in_order = place[first.number] < place[second.number]
                if 0 < first.answered < second.sent and not in_order:
                    yield f"out of order: {first} was heard after {second}"
