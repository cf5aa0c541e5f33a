"""The session of this process: its identity, its transcript and what it remembers."""

from __future__ import annotations

import os

from hive_subagent_stub import transcripts
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import is_uuid, timestamp, uuid4
from hive_subagent_stub.output import line

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.args import Options
    from hive_subagent_stub.versions import Version


class Refused(Exception):
    """The CLI would end here: exit 1 with this line on stderr and nothing on stdout."""


class Session:
    """One session; `open` decides whether it is new or resumed."""

    def __init__(self, session_id: str, path: str, *, cwd: str, version: Version) -> None:
        self.id = session_id
        self.path = path
        self.cwd = cwd
        self.version = version
        self.title: str | None = None
        self.resumed = False
        self.saved = True
        self.history: list[str] = []  # the user messages of earlier processes
        self.model: str | None = None
        self.brief: str | None = None  # the frozen prompt of an earlier process
        self.cost_usd = 0.0
        self.cut_tasks: dict[str, Json] = {}  # background work that ended with earlier processes
        self._begun = False
        self._last_uuid: str | None = None
        self._live: str | None = None
        self._file = -1

    @classmethod
    def open(cls, options: Options, version: Version) -> Session:
        """Find or make the session of this command line.

        Raises transcripts.ResumeMiss, and Refused where the identifier cannot be used.
        """
        try:
            cwd = os.path.realpath(os.getcwd())
        except FileNotFoundError:
            raise Refused(
                "ENOENT: Bun could not find a file, and the code that produces this error"
                " is missing a better error."
            ) from None
        home = transcripts.config_dir(os.environ)
        projects = os.path.join(home, "projects")
        folder = os.path.join(projects, transcripts.encode(cwd))
        if options.session_id is not None and not is_uuid(options.session_id):
            raise Refused("Error: Invalid session ID. Must be a valid UUID.")
        source: str | None = None
        if options.resume is not None or options.resume_latest:
            if options.session_id is not None and not options.fork:
                raise Refused(
                    "Error: --session-id can only be used with --continue or --resume "
                    "if --fork-session is also specified."
                )
            if options.resume is None:
                source = transcripts.latest(folder)
            else:
                source = transcripts.find(
                    options.resume,
                    projects=projects,
                    directory=cwd,
                    anywhere=version.resumes_by_id_anywhere,
                )
        keeps_id = source is not None and not options.fork
        session_id = (
            os.path.basename(source)[:-6] if source and keeps_id else options.session_id or uuid4()
        )
        path = source if source and keeps_id else os.path.join(folder, f"{session_id}.jsonl")
        if not keeps_id and os.path.exists(path):
            raise Refused(f"Error: Session ID {session_id} is already in use.")
        session = cls(session_id, path, cwd=cwd, version=version)
        if source:
            session._remember(source)
        session.title = options.name or session.title
        session.saved = not (
            options.no_persistence or os.environ.get("CLAUDE_CODE_SKIP_PROMPT_HISTORY") == "1"
        )
        session._live = os.path.join(home, "sessions", f"{os.getpid()}.json")
        return session

    def _remember(self, path: str) -> None:
        self.resumed = True
        for entry in transcripts.lines_of(path):
            kind = entry.get("type")
            if kind == "custom-title":
                self.title = entry.get("customTitle")
            elif kind == "attachment":
                attachment = entry.get("attachment") or {}
                if attachment.get("type") == "prompt_snapshot":
                    self.brief = "".join(attachment.get("systemPrompt") or [])
                elif attachment.get("type") == "stub_task":
                    self.cut_tasks[attachment["task_id"]] = attachment
                elif attachment.get("type") == "stub_task_ended":
                    self.cut_tasks.pop(attachment["task_id"], None)
            elif kind == "cost-state":
                self.cost_usd = float(entry.get("totalCostUSD") or 0)
            elif kind == "assistant":
                # measured: the model of the transcript, without its [1m], not the default one
                self.model = (entry.get("message") or {}).get("model") or self.model
            elif kind == "user":
                content = (entry.get("message") or {}).get("content")
                if isinstance(content, str):
                    self.history.append(content)

    def show_alive(self) -> None:
        """Write `sessions/<pid>.json`; an unwritable home is no error for the CLI."""
        assert self._live is not None
        entry = {"pid": os.getpid(), "sessionId": self.id, "cwd": self.cwd, "name": self.title}
        try:
            os.makedirs(os.path.dirname(self._live), mode=0o700, exist_ok=True)
            file = _open(self._live)
            os.write(file, line(entry))
            os.close(file)
        except OSError:
            self._live = None

    def end(self) -> None:
        """Take `sessions/<pid>.json` away again."""
        if self._live:
            transcripts.remove(self._live)

    def begin(self, brief: str) -> None:
        """Create the transcript (at the first turn) with its title, and the prompt if frozen."""
        if self._begun:
            return
        self._begun = True
        if self.saved:
            try:
                os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
                self._write([])
            except OSError:
                self.saved = False
        if self.title is not None:
            self.rename(self.title)
        if self.version.freezes_brief and self.brief is None:
            self.brief = brief
            attachment = {"type": "prompt_snapshot", "systemPrompt": [brief]}
            self._write([{"type": "attachment", "attachment": attachment, "sessionId": self.id}])

    def move_on(self) -> None:
        """Begin another session in the same folder, under the same title."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
        self.id = uuid4()
        self.path = os.path.join(os.path.dirname(self.path), f"{self.id}.jsonl")
        self._begun, self._last_uuid, self.brief = False, None, None
        self.history.clear()

    def rename(self, title: str) -> None:
        """Give the session a title; the last one written counts."""
        self.title = title
        self._write(
            [
                {"type": "custom-title", "customTitle": title, "sessionId": self.id},
                {"type": "agent-name", "agentName": title, "sessionId": self.id},
            ]
        )

    def record(self, kind: str, message: Json, uuid: str | None = None) -> None:
        """Append a user or assistant line; a message that came with a uuid keeps it."""
        uuid = uuid or uuid4()
        entry = {
            "parentUuid": self._last_uuid,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": self.version.name,
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": timestamp(),
        }
        self._last_uuid = uuid
        self._write([entry])

    def attach(self, kind: str, **about: object) -> None:
        """Append something that the model is told besides messages."""
        entry = {"type": "attachment", "attachment": {"type": kind, **about}, "uuid": uuid4()}
        self._write([entry | {"timestamp": timestamp(), "sessionId": self.id}])

    def record_cost(self, total_usd: float) -> None:
        """Append what the session has cost so far."""
        if self.version.sums_cost_over_resume:
            self._write([{"type": "cost-state", "sessionId": self.id, "totalCostUSD": total_usd}])

    def _write(self, entries: list[Json]) -> None:
        if not self.saved:
            return
        try:
            if self._file < 0:
                self._file = _open(self.path)
            os.write(self._file, b"".join(line(entry) for entry in entries))
        except OSError:
            self.saved = False


def _open(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
