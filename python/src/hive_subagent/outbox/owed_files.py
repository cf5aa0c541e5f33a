"""The files of what is owed: one for each run, in `state_dir/owed/`, and what they say.

`<run id>.json` begins as the promise of a notice and becomes the notice. A file that was read and
makes no sense is set aside as `.broken`; one that cannot be read now, or that a newer version
wrote, stays where it is.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from hive_subagent.models.notices import Notice
from hive_subagent.outbox.journal import Journal, lines_of
from hive_subagent.system.private_files import (
    Unusable,
    private_directory,
    read_ours,
    reason_of,
    sync_directory,
    write_private,
)

VERSION = 1
"""Of the files that are written here. A file without a version is of the first."""

ROOM = 64 * 1024
"""Bytes reserved on the disk for the notice of one run; on a full disk a longer one is cut."""

_SHORT = 1000
"""Characters that are left of each text then."""

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

logger = logging.getLogger(__name__)


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


class OwedFiles:
    """The folder. Every method raises OSError for what the disk refuses, where it says nothing."""

    def __init__(self, state_dir: Path, *, identity: str = "") -> None:
        """Raises ConfigurationError when `state_dir/owed` cannot be made ours."""
        self.folder = state_dir / "owed"
        private_directory(self.folder)
        self._identity = identity
        self.set_aside = 0
        """Files that made no sense, as far as they are known."""

    def path(self, run_id: str) -> Path:
        """Where the file of a run lies. Raises ValueError for an id that is no file name."""
        if not _RUN_ID.fullmatch(run_id):
            raise ValueError(f"not a run id: {run_id!r}")
        return self.folder / f"{run_id}.json"

    def listed(self) -> list[str]:
        """The ids of all runs that have a file; drafts that a crash left are removed."""
        names = sorted(os.listdir(self.folder))
        self.set_aside = sum(name.endswith(".broken") for name in names)
        for name in names:
            if name.startswith(".") and name.endswith(".tmp"):
                with suppress(OSError):
                    (self.folder / name).unlink()  # the file before it counts
        return [name[: -len(".json")] for name in names if name.endswith(".json")]

    def promise(self, run_id: str, payload: Mapping[str, Any], *, room: int = ROOM) -> Journal:
        """Write the promise of a notice, and reserve the room of that; `sync` makes it durable."""
        return Journal.create(self.path(run_id), self.promised(payload), room=room)

    def sync(self) -> None:
        """Flush the names in the folder to the disk."""
        sync_directory(self.folder)

    def promised(self, payload: Mapping[str, Any]) -> bytes:
        """The line of a promise."""
        return _line(
            {
                "version": VERSION,
                "state": "running",
                "payload": dict(payload),
                "identity": self._identity,
                "at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }
        )

    def rewrite(self, owed: Owed, *, durable: bool) -> None:
        """Replace a run's file by one that says this alone."""
        write_private(self.path(owed.notice.id), owed_line(owed), durable=durable)

    def remove(self, run_id: str, *, durable: bool = False) -> None:
        """Remove a run's file, there or not."""
        self.path(run_id).unlink(missing_ok=True)
        if durable:
            self.sync()

    def reopen(self, run_id: str) -> Journal:
        """The journal of a run that an earlier daemon began."""
        path = self.path(run_id)
        content = read_ours(path).rstrip(b"\0")
        # what a crash cut short is ended, so that the next line is one by itself
        journal = Journal.reopen(path, len(content))
        if not content.endswith(b"\n"):
            journal.append(b"\n")
        return journal

    def read(self, run_id: str) -> Unfinished | Owed | None:
        """What a run's file says; None where it is gone, or made no sense and is set aside.

        Raises OSError when it cannot be read now, NewerVersion when it stays for that version.
        """
        file = self.folder / f"{run_id}.json"
        try:
            return _decode(run_id, read_ours(file))
        except FileNotFoundError:
            logger.warning("notice %s is gone: somebody removed %s", run_id, file)
        except (Unusable, ValueError, RecursionError) as error:
            self._set_aside(file, error)
        return None

    def _set_aside(self, file: Path, error: Exception) -> None:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        reason = reason.partition("\n")[0]
        target, number = file.with_name(f"{file.name}.broken"), 1
        while os.path.lexists(target):
            number += 1
            target = file.with_name(f"{file.name}.{number}.broken")
        self.set_aside += 1
        try:
            file.rename(target)
        except OSError as hindrance:
            logger.error("%s is broken (%s) and stays: %s", file, reason, hindrance.strerror)
        else:
            logger.error("%s is broken (%s); it is now %s", file, reason, target.name)


def identities_in(state_dir: Path) -> list[str]:
    """The identities under which runs were begun that are owed a notice, each once."""
    found: dict[str, None] = {}
    with suppress(OSError):
        for file in sorted((state_dir / "owed").glob("*.json")):
            with suppress(OSError, ValueError, RecursionError, NewerVersion):
                entry = _decode(file.stem, read_ours(file))
                if isinstance(entry, Unfinished) and entry.identity:
                    found[entry.identity] = None
    return list(found)


def owed_line(owed: Owed) -> bytes:
    """The line of a notice that is owed."""
    entry = {
        "version": VERSION,
        "state": "owed",
        "notice": owed.notice.model_dump(),
        "accepted": sorted(owed.accepted),
    }
    return _line(entry if owed.ending is None else {**entry, "ending": owed.ending})


def append_owed(journal: Journal, owed: Owed) -> Literal["whole", "cut", "nothing"]:
    """Add the notice to the file of its promise; how much of it is on the disk now."""
    try:
        journal.append(owed_line(owed))
    except OSError as error:
        logger.warning("notice %s does not fit: %s", owed.notice.id, error.strerror)
    else:
        with suppress(OSError):
            journal.trim()
        return "whole"
    try:
        # it may be longer than the room that was reserved for it
        journal.append(owed_line(_shortened(owed)))
    except OSError:
        return "nothing"
    return "cut"


def _shortened(owed: Owed) -> Owed:
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


def _decode(run_id: str, content: bytes) -> Unfinished | Owed:
    if not _RUN_ID.fullmatch(run_id):
        raise ValueError("its name is no run id")
    return _entry(run_id, _last(content))


def _last(content: bytes) -> dict[str, Any]:
    """The last whole line. Raises ValueError, RecursionError where none is."""
    trouble: ValueError | RecursionError = ValueError("it is empty")
    for line in lines_of(content):
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
