"""The one way to begin a run: what `start`, `continue` and each task of `delegate` go through.

Nothing here waits, so no other call comes between the checks and the run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hive_subagent.claude import transcripts
from hive_subagent.errors import Refused
from hive_subagent.messages import refusals
from hive_subagent.sessions import checks
from hive_subagent.sessions.launch import Launch, order_of
from hive_subagent.sessions.options import Options
from hive_subagent.sessions.registry import Registry
from hive_subagent.sessions.session_lock import (
    refuse_if_an_id_of_ours,
    refuse_if_title_is_open,
    take_lock,
)
from hive_subagent.sessions.store import SessionRecord, SessionStore
from hive_subagent.settings import Settings


@dataclass(frozen=True)
class Preparation:
    """Makes launches. Every refusal is a Refused with one line, and nothing is left of it."""

    settings: Settings
    records: SessionStore
    registry: Registry

    def new(self, record: SessionRecord, prompt: str, options: Options, brief: bytes) -> Launch:
        """The launch of a new session, whose brief is on the disk then. Raises Refused.

        `record` is the session as it is without the options.
        """
        record = options.granted(record, self.settings)
        program = self._program(Path(record.dir))
        predecessor = self.registry.record(record.name)
        self._check_archivable(predecessor)
        self.registry.keep_group_of(predecessor)
        return Launch(
            record=record,
            order=order_of(record, prompt, self.settings),
            program=program,
            brief=self.records.save_brief(record.session_id, brief),
            predecessor=predecessor,
        )

    def resumed(
        self, name: str, directory: Path, prompt: str, options: Options
    ) -> tuple[Launch, SessionRecord]:
        """The launch of another run of a session, and the session as it is. Raises Refused."""
        known = self.registry.record(name)
        if known is None:
            # existence is claude's business: it answers whether it has such a session there
            known = SessionRecord(name=name, session_id="", dir=str(directory), ours=False)
            refuse_if_an_id_of_ours(self.records, name)
            refuse_if_title_is_open(self.settings.claude_config_dir, name, directory)
        elif known.ending is not None and not known.ending.left_session:
            raise Refused(refusals.left_no_session(name), kind="conflict", name=name)
        elif not _same_directory(directory, known.dir):
            raise Refused(refusals.begun_meanwhile(name), kind="conflict", name=name)
        # a child that goes on is a run by itself, under the ceiling it was given
        self.registry.keep_group_of(known)
        goes_on = known.model_copy(update={"delegation": None, "dir": str(directory)})
        record = options.granted(goes_on, self.settings)
        program = self._program(directory)
        launch = Launch(
            record=record,
            order=order_of(record, prompt, self.settings),
            program=program,
            brief=self.records.brief(record.session_id) if record.ours else None,
            resume=record.session_id or name,
            lock=take_lock(self.settings.claude_config_dir, record) if record.session_id else None,
            keeps_limit=options.memory_max is None,
        )
        return launch, known

    def forget(self, launches: Iterable[Launch]) -> None:
        """Remove what is on the disk of new sessions that will not begin."""
        for launch in launches:
            self.records.forget(launch.record.session_id)

    def _check_archivable(self, predecessor: SessionRecord | None) -> None:
        """Raise Refused when somebody works in what a new session of its name would archive."""
        if predecessor is None or not predecessor.ours:
            return
        if lock := take_lock(self.settings.claude_config_dir, predecessor):
            lock.release()

    def _program(self, directory: Path) -> str:
        """The program of a run in `directory`. Raises Refused where it could not be."""
        if problem := transcripts.config_dir_problem(self.settings.claude_config_dir, directory):
            raise Refused(problem, kind="failed", path=self.settings.claude_config_dir)
        return checks.check_program(self.settings.claude_bin, os.environ.get("PATH"))


def _same_directory(directory: Path, known: str) -> bool:
    if str(directory) == known:
        return True
    try:
        return os.path.samefile(directory, known)
    except OSError:
        return False
