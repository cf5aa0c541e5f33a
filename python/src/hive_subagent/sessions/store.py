"""The records of sessions, which claude does not keep: name, directory, brief, last ending.

`sessions/<uuid>/` below the state directory holds `record.json`, `brief.md` and, for each run that
answered, `results/<run id>.txt`; `names/<name>` holds the uuid of the session that the name means
now. Record, brief and name are flushed to the disk: a session without its record would go on
without its limits and its permissions.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from hive_subagent.claude.transcripts import is_session_id
from hive_subagent.errors import ConfigurationError, RefusalKind, Refused, SubagentError
from hive_subagent.models.session import Frozen, Undelivered
from hive_subagent.permissions import Permissions
from hive_subagent.sessions.checks import NAME
from hive_subagent.sessions.ending import Ending
from hive_subagent.system.private_files import (
    Unusable,
    check_ours,
    private_directory,
    read_ours,
    reason_of,
    sync_directory,
    write_private,
)
from hive_subagent.system.sanitize import on_one_line

VERSION = 1
"""Of the records that are written here. One without a version is of the first."""

log = logging.getLogger(__name__)


class Unreadable(Refused):
    """There is a record of this name, and it cannot be read; `now`: later it perhaps can."""

    def __init__(self, message: str, *, name: str, path: Path, now: bool) -> None:
        kind: RefusalKind = "unavailable" if now else "failed"
        super().__init__(message, kind=kind, name=name, path=path)
        self.now = now


class SessionRecord(Frozen):
    """One session.

    `ours` says that this daemon's state directory started it; `kept` are the owner's words that
    no run has delivered yet. `permissions` is what a child may have at most, whatever the daemon's
    settings become; None for a session that is held by those alone. `depth` counts delegations
    above it. `delegation` is that of its current or last run.
    """

    version: int = VERSION
    name: str
    session_id: str
    dir: str
    ours: bool
    model: str | None = None
    goal: str | None = None
    max_turns: int | None = None
    report_file: str | None = None
    memory_max: int | None = None
    turn_timeout_s: float | None = None
    background_wait_s: float | None = None
    role: str | None = None
    effort: str | None = None
    permissions: Permissions | None = None
    depth: int = 0
    delegation: str | None = None
    kept: tuple[Undelivered, ...] = ()
    ending: Ending | None = None

    def with_ending(self, ending: Ending) -> Self:
        """The same session, after a run that ended so."""
        return self.model_copy(update={"ending": ending})


class SessionStore:
    """The sessions below one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self._sessions = state_dir / "sessions"
        self._names = state_dir / "names"
        self._unsaved: dict[str, tuple[SessionRecord, Callable[[], None]]] = {}
        private_directory(self._sessions)
        private_directory(self._names)

    @property
    def unsaved(self) -> int:
        """How many endings are held in memory only, since the disk did not take them."""
        return len(self._unsaved)

    def save(self, record: SessionRecord) -> None:
        """Write a session and let its name mean it; one without an id is not kept.

        Raises Refused when the disk does not take it.
        """
        if not record.session_id:
            return
        file = self._folder(record.session_id) / "record.json"
        is_new = not os.path.exists(file)  # Path.exists raises an error of the disk
        self._write(file, record.model_dump_json().encode(), folders=2 if is_new else 1)
        if not self._means(record.name, record.session_id):
            self._write(self._names / record.name, record.session_id.encode())
        for session_id, (held, saved) in list(self._unsaved.items()):
            # written later, an ending of the session before would take the name back
            if session_id == record.session_id or held.name == record.name:
                del self._unsaved[session_id]
                saved()

    def keep(self, record: SessionRecord, saved: Callable[[], None]) -> bool:
        """Save the ending of a session, now or later; `saved` is called once that is done.

        Until then `by_name` answers from memory, and `retry` tries again. Returns whether it is
        done.
        """
        try:
            self.save(record)
        except SubagentError as error:
            log.error("how `%s` ended is held in memory only, for now: %s", record.name, error)
            self._unsaved[record.session_id] = (record, saved)
            return False
        saved()
        return True

    def retry(self) -> int:
        """Try once to save what is held in memory only; how many are left."""
        for record, _ in list(self._unsaved.values()):
            try:
                self.save(record)
            except SubagentError:
                continue
            log.info("how `%s` ended is on the disk now", record.name)
        return len(self._unsaved)

    def report_unsaved(self) -> None:
        """Report in the log the endings that are lost to their records with this process."""
        for record, _ in self._unsaved.values():
            log.error("how `%s` ended was held in memory and is not in its record", record.name)

    def save_brief(self, session_id: str, brief: bytes) -> Path:
        """Keep a session's brief byte for byte; it is passed again on every process.

        Raises Refused when the disk does not take it, and then nothing of it is left.
        """
        path = self._folder(session_id) / "brief.md"
        try:
            # its folder is flushed with the record, which alone leads to it
            self._write(path, brief, folders=0)
        except SubagentError:
            self.forget(session_id)
            raise
        return path

    def save_result(self, session_id: str, run_id: str, content: bytes) -> Path:
        """Keep the answers of a run; returns the file, which `forget` removes.

        Raises Refused when the disk does not take it.
        """
        path = self._folder(session_id) / "results" / f"{run_id}.txt"
        self._write(path, content)
        return path

    def _write(self, path: Path, content: bytes, *, folders: int = 1) -> None:
        try:
            private_directory(path.parent)
            write_private(path, content, durable=True, name_later=folders == 0)
            if folders > 1:
                sync_directory(path.parent.parent)
        except ConfigurationError as error:
            raise Refused(str(error), kind="failed", path=error.path) from None
        except OSError as error:
            raise _unwritable(path, error) from None

    def _means(self, name: str, session_id: str) -> bool:
        try:
            return read_ours(self._names / name).decode() == session_id
        except (OSError, ValueError):
            return False

    def brief(self, session_id: str) -> Path:
        """Where the brief of a session of ours lies.

        Raises Refused for one that is gone, or was put in its place.
        """
        path = self._folder(session_id) / "brief.md"
        try:
            if path.parent.is_symlink():
                raise OSError("its folder is a symbolic link")
            check_ours(path)
        except OSError as error:
            raise Refused(
                f"{path}: {error.strerror or error}; put the brief back, or `start` the session"
                " anew",
                kind="failed",
                path=path,
            ) from None
        return path

    def by_name(self, name: str) -> SessionRecord | None:
        """The session that a name means; None where the name was never used, or is forgotten.

        Raises Unreadable where there is a record and it cannot be read: its session without its
        brief, its limits and its permissions would be another one.
        """
        if not NAME.fullmatch(name):
            return None
        for record, _ in self._unsaved.values():
            if record.name == name:
                return record
        try:
            return self._read(name)
        except (OSError, ValueError, SubagentError) as error:
            now = isinstance(error, OSError) and not isinstance(error, Unusable)
            raw = reason_of(error) if isinstance(error, OSError | ValueError) else str(error)
            reason = on_one_line(raw.partition("\n")[0])
            fix = f"put it back, or remove {self._names / name} to go on without it"
            raise Unreadable(
                f"what is kept of subagent `{name}` cannot be read ({reason}):"
                f" {'call again' if now else fix}",
                name=name,
                path=self._names / name,
                now=now,
            ) from None

    def _read(self, name: str) -> SessionRecord | None:
        try:
            session_id = read_ours(self._names / name).decode().strip()
        except FileNotFoundError:
            if self._names.is_dir():
                return None
            raise  # everything is gone: a file system that is not mounted, say
        folder = self._folder(session_id)
        if folder.is_symlink():
            raise ValueError(f"{folder} is a symbolic link")
        try:
            content = read_ours(folder / "record.json")
        except FileNotFoundError:
            if self._is_forgotten(folder):
                return None
            raise ValueError(f"{folder / 'record.json'} is missing") from None
        record = _parsed(content)
        if (record.name, record.session_id) != (name, session_id):
            raise ValueError(f"{folder} holds the record of another session")
        return record

    def _is_forgotten(self, folder: Path) -> bool:
        """Whether a session was removed whole, as `forget` does. Raises OSError."""
        try:
            folder.lstat()
        except FileNotFoundError:
            return self._sessions.is_dir()
        return False

    def holds(self, session_id: str) -> bool:
        """Whether anything is kept of a session of this id. Raises OSError: cannot look."""
        return is_session_id(session_id) and not self._is_forgotten(self._sessions / session_id)

    def forget(self, session_id: str) -> None:
        """Remove the files of an archived session, or of one that never began."""
        if is_session_id(session_id):
            shutil.rmtree(self._sessions / session_id, ignore_errors=True)

    def _folder(self, session_id: str) -> Path:
        # what was read from a file, or printed by claude, must not lead elsewhere
        if not is_session_id(session_id):
            raise Refused(
                f"session id {session_id[:80]!r} is none: it has to be a UUID", name=session_id
            )
        return self._sessions / session_id


def _parsed(content: bytes) -> SessionRecord:
    """Raises ValueError: not a record, or one of a newer version."""
    try:
        found: Any = json.loads(content)
    except RecursionError:
        raise ValueError("it is no record") from None
    version = found.get("version", 1) if isinstance(found, dict) else 1
    if isinstance(version, int) and version > VERSION:
        raise ValueError(
            f"its version is {version}, this daemon reads those up to {VERSION}: run a newer one"
        )
    return SessionRecord.model_validate_json(content)


def _unwritable(path: Path, error: OSError) -> Refused:
    return Refused(
        f"{path} cannot be written: {error.strerror}; make room in state_dir, or make it writable"
        " for the daemon",
        kind="failed",
        path=path,
    )
