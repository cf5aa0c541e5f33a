"""What is kept of each session and claude does not keep: name, directory, brief, last ending.

`sessions/<uuid>/` below the state directory holds `record.json`, `brief.md` and, for each run that
answered, `results/<run id>.txt`;
`names/<name>` holds the uuid of the session that the name means now.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from hive_subagent.claude.transcripts import is_session_id
from hive_subagent.errors import ConfigurationError, Refused, SubagentError
from hive_subagent.instance import check_ours, private_directory, read_ours, write_private
from hive_subagent.models import Frozen, RunFigures, State, StopReason, Undelivered
from hive_subagent.permissions import Permissions
from hive_subagent.runs.checks import NAME
from hive_subagent.visible import on_one_line

log = logging.getLogger(__name__)


class Ending(RunFigures):
    """How a run ended. `cost_total` is claude's own last figure, `cost_usd` this run's share.

    `turn` is 0 for a child that left no session: it never began, or that could not be kept.
    """

    run_id: str
    state: State
    stop_reason: StopReason
    cost_total: float | None = None
    result_cut: bool = False
    at: str


class SessionRecord(Frozen):
    """One session.

    `ours` says that this daemon's state directory started it; `kept` are the owner's words that
    no run has delivered yet. `permissions` is what a child may have at most, whatever the daemon's
    settings become; None for a session that is held by those alone. `depth` counts delegations
    above it. `delegation` is that of its current or last run.
    """

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


class Records:
    """The sessions below one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self._sessions = state_dir / "sessions"
        self._names = state_dir / "names"
        private_directory(self._sessions)
        private_directory(self._names)

    def save(self, record: SessionRecord) -> None:
        """Write a session and let its name mean it; one without an id is not kept.

        Raises Refused when the disk does not take it.
        """
        if not record.session_id:
            return
        folder = self._folder(record.session_id)
        self._write(folder / "record.json", record.model_dump_json().encode())
        self._write(self._names / record.name, record.session_id.encode())

    def save_brief(self, session_id: str, brief: bytes) -> Path:
        """Keep a session's brief byte for byte; it is passed again on every process.

        Raises Refused when the disk does not take it, and then nothing of it is left.
        """
        path = self._folder(session_id) / "brief.md"
        try:
            self._write(path, brief)
        except SubagentError:
            self.forget(session_id)
            raise
        return path

    def save_result(self, session_id: str, run_id: str, content: bytes) -> Path:
        """Keep what a run answered; returns the file, which `forget` removes.

        Raises Refused when the disk does not take it.
        """
        path = self._folder(session_id) / "results" / f"{run_id}.txt"
        self._write(path, content)
        return path

    def _write(self, path: Path, content: bytes) -> None:
        try:
            private_directory(path.parent)
            write_private(path, content)
        except ConfigurationError as error:
            raise Refused(str(error)) from None
        except OSError as error:
            raise Refused(
                f"{path} cannot be written: {error.strerror}; make room in state_dir, or make it"
                " writable for the daemon"
            ) from None

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
                " anew"
            ) from None
        return path

    def by_name(self, name: str) -> SessionRecord | None:
        """The session that a name means; a record that cannot be read is told and passed over."""
        if not NAME.fullmatch(name):
            return None
        try:
            return self._read(name)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, SubagentError) as error:
            log.warning("the record of session %s cannot be read: %s", name, error)
            return None

    def check_readable(self, name: str) -> None:
        """Raise Refused where a name has a record and it cannot be read.

        Its session without its brief, its limits and its permissions would be another one.
        """
        try:
            self._read(name)
        except FileNotFoundError:
            return
        except (OSError, ValueError, SubagentError) as error:
            reason = on_one_line(str(error).partition("\n")[0])
            raise Refused(
                f"what is kept of subagent `{name}` cannot be read ({reason}): put it back, or"
                f" remove {self._names / name} to go on without it"
            ) from None

    def _read(self, name: str) -> SessionRecord:
        session_id = read_ours(self._names / name).decode().strip()
        folder = self._folder(session_id)
        if folder.is_symlink():
            raise ValueError(f"{folder} is a symbolic link")
        record = SessionRecord.model_validate_json(read_ours(folder / "record.json"))
        if (record.name, record.session_id) != (name, session_id):
            raise ValueError(f"{folder} holds the record of another session")
        return record

    def forget(self, session_id: str) -> None:
        """Remove what is kept of an archived session or of one that never began."""
        if is_session_id(session_id):
            shutil.rmtree(self._sessions / session_id, ignore_errors=True)

    def _folder(self, session_id: str) -> Path:
        # what was read from a file, or printed by claude, must not lead elsewhere
        if not is_session_id(session_id):
            raise Refused(f"session id {session_id[:80]!r} is none: it has to be a UUID")
        return self._sessions / session_id
