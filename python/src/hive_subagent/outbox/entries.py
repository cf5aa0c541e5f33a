"""What a file of the outbox says: the promise of a notice, or the notice, as lines of JSON.

The last line that is whole counts. One that a crash cut short is no JSON, and the one before it
counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from hive_subagent.models.notices import Notice

VERSION = 1
"""Of the lines that are written here. A line without a version is of the first."""

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

_SHORT = 1000  # characters that are left of each text of a notice that is shortened


class NewerVersion(Exception):
    """A newer version of the daemon wrote this file; the text says which."""


@dataclass(frozen=True)
class Unfinished:
    """A run that an earlier daemon left running.

    `payload` is what was given to `Outbox.promise`, `identity` that of the state directory then,
    `at` when the notice was promised (RFC 3339, UTC); the last two are empty where an older version
    wrote it.
    """

    run_id: str
    payload: dict[str, Any]
    identity: str = ""
    at: str = ""


@dataclass(frozen=True, kw_only=True)
class Owed:
    """A notice, the sinks that have it, and the ending that may not be in the session's record."""

    notice: Notice
    accepted: frozenset[str] = frozenset()
    ending: dict[str, Any] | None = None


def promise_line(payload: Mapping[str, Any], identity: str) -> bytes:
    """The line of a promise."""
    return _line(
        {
            "version": VERSION,
            "state": "running",
            "payload": dict(payload),
            "identity": identity,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
    )


def owed_line(owed: Owed) -> bytes:
    """The line of a notice that is owed."""
    entry = {
        "version": VERSION,
        "state": "owed",
        "notice": owed.notice.model_dump(),
        "accepted": sorted(owed.accepted),
    }
    return _line(entry if owed.ending is None else {**entry, "ending": owed.ending})


def shortened(owed: Owed) -> Owed:
    """With the beginning of each text, for a disk that is full."""

    def short(text: str | None) -> str | None:
        if text is None or len(text) <= _SHORT:
            return text
        return f"{text[:_SHORT]}\n(cut: the disk was full)"

    notice = owed.notice.model_copy(update={"text": short(owed.notice.text)})
    if notice.children is not None:
        children = [
            child.model_copy(
                update={
                    "message": short(child.message),
                    "result": short(child.result),
                    "result_cut": child.result_cut or len(child.result or "") > _SHORT,
                }
            )
            for child in notice.children
        ]
        notice = notice.model_copy(update={"children": children})
    ending = owed.ending
    if ending is not None:
        texts = {key: short(ending.get(key)) for key in ("message", "result")}
        long = len(ending.get("result") or "") > _SHORT
        ending = {**ending, **texts, "result_cut": ending.get("result_cut") or long}
    return replace(owed, notice=notice, ending=ending)


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode("ascii") + b"\n"


def decode(run_id: str, content: bytes) -> Unfinished | Owed:
    """What the file of a run says.

    Raises NewerVersion for one that a newer version wrote, ValueError or RecursionError for one
    that makes no sense.
    """
    if not RUN_ID.fullmatch(run_id):
        raise ValueError("its name is no run id")
    return _entry(run_id, _last(content))


def _last(content: bytes) -> dict[str, Any]:
    """The last whole line. Raises ValueError, RecursionError where none is."""
    trouble: ValueError | RecursionError = ValueError("it is empty")
    for line in _lines(content):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            trouble = error
            continue
        if isinstance(entry, dict):
            return entry
        trouble = ValueError("its last line is no object")
    raise trouble


class _Promise(BaseModel):
    version: int = 1
    state: Literal["running"]
    payload: dict[str, Any]
    identity: str = ""
    at: str = ""


class _Written(BaseModel):
    version: int = 1
    state: Literal["owed"]
    notice: Notice
    accepted: list[str]
    ending: dict[str, Any] | None = None


_ENTRY: TypeAdapter[_Promise | _Written] = TypeAdapter(
    Annotated[_Promise | _Written, Field(discriminator="state")]
)


def _entry(run_id: str, entry: dict[str, Any]) -> Unfinished | Owed:
    version = entry.get("version", 1)
    if isinstance(version, int) and version > VERSION:
        raise NewerVersion(f"of version {version}, this daemon knows those up to {VERSION}")
    try:
        read = _ENTRY.validate_python(entry)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise ValueError(f"{where}: {first['msg']}") from None
    if isinstance(read, _Promise):
        return Unfinished(run_id, read.payload, read.identity, read.at)
    if read.notice.id != run_id:
        raise ValueError("it is the notice of another run")
    return Owed(notice=read.notice, accepted=frozenset(read.accepted), ending=read.ending)


def _lines(content: bytes) -> list[bytes]:
    """The lines, the last one first; where none was cut short, that is the valid one.

    What a failed or interrupted write left behind the last whole line comes before it.
    """
    return [line for line in reversed(content.rstrip(b"\0").split(b"\n")) if line.strip(b"\0")]
