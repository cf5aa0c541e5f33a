"""What is owed: exactly one notice per run that was answered well, delivered whatever happens.

One file per run in `state_dir/owed/`. It begins as a marker when the call is answered, becomes
the notice when the run ends, before anybody is told, and is removed when every sink has taken it.
So a crash leaves either a run to report as killed or a notice to deliver. A sink that took a
notice in the instant before a crash may be handed it again: under the same id.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from pydantic import ValidationError

from hive_subagent.errors import Refused
from hive_subagent.instance import private_directory, read_ours, write_private
from hive_subagent.notices import Notice
from hive_subagent.todos.flusher import FIRST_PAUSE_S, LONGEST_PAUSE_S, Flusher
from hive_subagent.todos.sinks import Sink

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """A run that a crashed daemon left running; `payload` is what was given to `owe`."""

    run_id: str
    payload: dict[str, Any]


class Outbox:
    """The notices of one state directory and the sinks they go to.

    `owe`, `settle` and `cancel` write before they return and never wait, so no cancellation can
    come between a run's end and its record. Start it as: `load_unfinished`, `settle` those, `run`.
    Stop it as: `drain`, then cancel `run`.
    """

    def __init__(
        self,
        state_dir: Path,
        sinks: Sequence[Sink],
        *,
        first_pause_s: float = FIRST_PAUSE_S,
        longest_pause_s: float = LONGEST_PAUSE_S,
    ) -> None:
        """Raises ConfigurationError when `state_dir/owed` cannot be made ours."""
        self._directory = state_dir / "owed"
        private_directory(self._directory)
        self._running: set[str] = set()
        # notices that the disk would not take: told from memory, as long as we live
        self._unsaved: dict[str, Notice] = {}
        self._flushers = {
            sink.key: Flusher(
                sink,
                read=self._read_notice,
                accepted=self._note_accepted,
                first_pause_s=first_pause_s,
                longest_pause_s=longest_pause_s,
            )
            for sink in sinks
        }

    @property
    def pending(self) -> int:
        """How many notices at least one sink has not taken yet."""
        return len(set().union(*(flusher.waiting for flusher in self._flushers.values())))

    def owe(self, run_id: str, payload: Mapping[str, Any]) -> None:
        """Promise one notice for this run; `payload` (JSON) comes back after a crash.

        Call it just before the caller is answered well. Raises Refused when the promise cannot be
        kept on disk, ValueError for an id that is no file name.
        """
        file = self._file(run_id)
        try:
            write_private(file, _encode({"state": "running", "payload": dict(payload)}))
        except OSError as error:
            raise Refused(
                f"{self._directory} cannot be written: {error.strerror};"
                " make room or make it writable for the daemon"
            ) from None
        self._running.add(run_id)

    def cancel(self, run_id: str) -> None:
        """Forget a promise: the call was answered with an error after all."""
        if run_id in self._running:
            self._running.discard(run_id)
            self._remove(run_id)

    def settle(self, run_id: str, notice: Notice) -> bool:
        """The run ended: keep its notice (whose id is `run_id`), then deliver it in the background.

        False, and nothing is done, for a run that is not owed: never promised, cancelled, settled.
        """
        if notice.id != run_id:
            raise ValueError(f"notice {notice.id!r} is not the one of run {run_id!r}")
        if run_id not in self._running:
            return False
        self._running.discard(run_id)
        if not self._flushers:
            self._remove(run_id)
            return True
        try:
            write_private(self._file(run_id), _encode_owed(notice, set()))
        except OSError as error:
            logger.error("notice %s is held in memory only: %s", run_id, error.strerror)
            self._unsaved[run_id] = notice
        for flusher in self._flushers.values():
            flusher.add(run_id, notice.at)
        return True

    def load_unfinished(self) -> list[Unfinished]:
        """Take up what an earlier daemon left: call once, at the start, with `state_dir` locked.

        Undelivered notices are queued; returned are the runs still marked running, to be settled.
        A file that cannot be understood is renamed to `.broken` and told in the log.
        """
        unfinished = []
        for file in sorted(self._directory.iterdir()):
            if file.name.startswith(".") and file.suffix == ".tmp":
                with suppress(OSError):
                    file.unlink()  # a write that the crash cut short; the file before it counts
            if file.suffix != ".json":
                continue
            entry = self._read(file.stem)
            if isinstance(entry, Unfinished):
                self._running.add(entry.run_id)
                unfinished.append(entry)
            elif entry is not None:
                notice, accepted = entry
                missing = [f for key, f in self._flushers.items() if key not in accepted]
                for flusher in missing:
                    flusher.add(notice.id, notice.at)
                if self._flushers and not missing:
                    self._remove(notice.id)
        return unfinished

    async def run(self) -> None:
        """Deliver until cancelled: one task per sink, however many notices wait."""
        async with anyio.create_task_group() as tasks:
            for flusher in self._flushers.values():
                tasks.start_soon(flusher.run)

    async def drain(self, timeout_s: float) -> None:
        """Try everything that waits once more, pauses or not, for at most `timeout_s` seconds."""
        with anyio.move_on_after(timeout_s):
            async with anyio.create_task_group() as tasks:
                for flusher in self._flushers.values():
                    tasks.start_soon(flusher.drain)

    def _file(self, run_id: str) -> Path:
        if not _RUN_ID.fullmatch(run_id):
            raise ValueError(f"not a run id: {run_id!r}")
        return self._directory / f"{run_id}.json"

    def _read_notice(self, run_id: str) -> Notice | None:
        if run_id in self._unsaved:
            return self._unsaved[run_id]
        entry = self._read(run_id)
        return entry[0] if isinstance(entry, tuple) else None

    def _note_accepted(self, run_id: str) -> None:
        """Remember which sinks have it; the last one to take it removes the file."""
        taken = {key for key, flusher in self._flushers.items() if run_id not in flusher.waiting}
        if len(taken) == len(self._flushers):
            self._unsaved.pop(run_id, None)
            self._remove(run_id)
            return
        notice = self._unsaved.get(run_id)
        if notice is None:
            entry = self._read(run_id)
            if not isinstance(entry, tuple):
                return
            notice, before = entry
            taken.update(before)
        try:
            write_private(self._file(run_id), _encode_owed(notice, taken))
        except OSError as error:
            logger.error("who took notice %s could not be kept: %s", run_id, error.strerror)
        else:
            self._unsaved.pop(run_id, None)

    def _read(self, run_id: str) -> Unfinished | tuple[Notice, list[str]] | None:
        """What the run's file says; None where it is gone, or was broken and is set aside."""
        file = self._directory / f"{run_id}.json"
        try:
            return _decode(run_id, read_ours(file))
        except FileNotFoundError:
            logger.warning("notice %s is gone: somebody removed %s", run_id, file)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self._set_aside(file, error)
        return None

    def _set_aside(self, file: Path, error: Exception) -> None:
        reason = str(error).partition("\n")[0]
        target, number = file.with_name(f"{file.name}.broken"), 1
        while os.path.lexists(target):
            number += 1
            target = file.with_name(f"{file.name}.{number}.broken")
        try:
            file.rename(target)
        except OSError as hindrance:
            logger.error("%s is broken (%s) and stays: %s", file, reason, hindrance.strerror)
        else:
            logger.error("%s is broken (%s); it is now %s", file, reason, target.name)

    def _remove(self, run_id: str) -> None:
        try:
            self._file(run_id).unlink(missing_ok=True)
        except OSError as error:
            logger.error("owed notice %s cannot be removed: %s", run_id, error.strerror)


def _encode(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode("ascii") + b"\n"


def _encode_owed(notice: Notice, accepted: set[str]) -> bytes:
    return _encode({"state": "owed", "notice": notice.model_dump(), "accepted": sorted(accepted)})


def _decode(run_id: str, content: bytes) -> Unfinished | tuple[Notice, list[str]]:
    entry = json.loads(content)
    if not _RUN_ID.fullmatch(run_id):
        raise ValueError("its name is no run id")
    if entry["state"] == "running":
        if not isinstance(entry["payload"], dict):
            raise TypeError("payload is not an object")
        return Unfinished(run_id=run_id, payload=entry["payload"])
    if entry["state"] != "owed":
        raise ValueError(f"unknown state {entry['state']!r}")
    try:
        notice = Notice.model_validate(entry["notice"])
    except ValidationError as error:
        raise ValueError(f"notice: {error.errors()[0]['msg']}") from None
    accepted = entry["accepted"]
    if notice.id != run_id:
        raise ValueError("it is the notice of another run")
    if not isinstance(accepted, list) or not all(isinstance(key, str) for key in accepted):
        raise TypeError("accepted is not a list of sinks")
    return notice, accepted
