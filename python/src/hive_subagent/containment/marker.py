"""How a process is known to belong to a run, when neither cgroup nor parent says so.

Two marks, both inherited over fork and exec and both set before claude executes anything:

- the environment variable `HIVE_SUBAGENT_RUN=<identity>:<run_id>`;
- the stamp: the soft limit of "file locks", a resource limit that no kernel since 2.4.25 looks
  at. It survives what drops the environment (`env -i`, sudo, a process that overwrites its own
  environment with a title) and it can still be read from a zombie.

The identity is that of `state_dir`: stable over restarts, known to nobody else, no secret.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from hive_subagent.containment import proc

VARIABLE = "HIVE_SUBAGENT_RUN"
LIMIT_TITLE = b"Max file locks"

_RUN_BITS = 23
_IDENTITY_BITS = 39  # together 62: below every shell's and kernel's idea of infinity


@dataclass(frozen=True, slots=True)
class Marks:
    """What one process carries; None where it carries none."""

    identity: str | None
    run_id: str | None
    stamp: int | None


def variable_value(identity: str, run_id: str) -> str:
    return f"{identity}:{run_id}"


def stamp(identity: str, number: int) -> int:
    """The limit for the `number`th run of an identity; never 0."""
    digest = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big")
    house = digest % ((1 << _IDENTITY_BITS) - 1) + 1
    return (house << _RUN_BITS) | (number & ((1 << _RUN_BITS) - 1))


def same_daemon(stamped: int, identity: str) -> bool:
    """Whether a stamp is of this identity, whatever the run."""
    return stamped >> _RUN_BITS == stamp(identity, 0) >> _RUN_BITS


def read(pid: int) -> Marks:
    """What a process carries now. Only the marks of an own process may be believed."""
    value = proc.environment_value(pid, VARIABLE.encode())
    identity, _, run_id = (value or "").rpartition(":")
    return Marks(identity or None, run_id or None, proc.soft_limit(pid, LIMIT_TITLE))


class MarkReader:
    """Reads marks, and reads those of one process again only after an exec."""

    def __init__(self, *, user: int, read: Callable[[int], Marks] = read) -> None:
        self._user = user
        self._read = read
        self._known: dict[tuple[int, int, int], Marks] = {}

    def __call__(self, process: proc.Process) -> Marks:
        """The marks of a process; none for another user's, whose environment is not looked at."""
        key = (process.pid, process.started, process.env_start)
        marks = self._known.get(key)
        if marks is None:
            own = proc.owner(process.pid) == self._user
            marks = self._read(process.pid) if own else Marks(None, None, None)
            self._known[key] = marks
        return marks

    def forget(self, process: proc.Process) -> None:
        self._known.pop((process.pid, process.started, process.env_start), None)

    def forget_the_gone(self, processes: proc.Snapshot) -> None:
        """Drop what is remembered of processes that are no longer there."""
        self._known = {
            key: marks
            for key, marks in self._known.items()
            if (now := processes.get(key[0])) is not None and now.started == key[1]
        }
