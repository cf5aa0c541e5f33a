"""The marks by which a process is known as a run's, and the launcher that sets them.

Two marks, both inherited over fork and exec and both set before claude executes anything:

- the environment variable `HIVE_SUBAGENT_RUN=<identity>:<run_id>`;
- the stamp: the soft limit of "file locks", a resource limit that no kernel since 2.4.25 looks
  at. It survives what drops the environment (`env -i`, sudo, a process that overwrites its own
  environment with a title) and it can still be read from a zombie.

The identity is that of `state_dir`: stable over restarts, known to nobody else, no secret.

The launcher runs between the spawn and claude, in the same process. It is a shell because that
starts in about a millisecond (an interpreter needs 15), and never `preexec_fn`, which runs Python
between fork and exec of a process with threads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    daemon = digest % ((1 << _IDENTITY_BITS) - 1) + 1
    return (daemon << _RUN_BITS) | (number & ((1 << _RUN_BITS) - 1))


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


CANNOT_ENTER = 125

_OOM_SCORE = 500  # under a limit of the whole service a child dies, never the daemon

# $1 is the stamp. dash calls the limit of file locks -w, bash -x. The shell's own variables are
# not passed on: a child's environment is an allow-list.
_MARK = (
    f"{{ echo {_OOM_SCORE} >/proc/self/oom_score_adj; }} 2>/dev/null; "
    '{ ulimit -S -w "$1" || ulimit -S -x "$1"; } 2>/dev/null; '
)
_GO = 'unset PWD OLDPWD SHLVL; exec "$@"'
_ENTER = (
    '{ echo 0 >"$2/cgroup.procs"; } 2>/dev/null || '
    f'{{ echo "hive-subagent: cannot enter cgroup $2" >&2; exit {CANNOT_ENTER}; }}; '
)

_SESSION_SCRIPT = _MARK + "shift; " + _GO
_CGROUP_SCRIPT = _ENTER + _MARK + "shift 2; " + _GO


def session_launcher(argv: Sequence[str], *, stamp: int) -> list[str]:
    """Raise the OOM score and set the stamp, both tolerant of failure, then become `argv`."""
    return ["/bin/sh", "-c", _SESSION_SCRIPT, "hive-subagent-launch", str(stamp), *argv]


def cgroup_launcher(argv: Sequence[str], *, stamp: int, leaf: Path) -> list[str]:
    """Enter the cgroup first, or exit with `CANNOT_ENTER`; then as `session_launcher`."""
    return ["/bin/sh", "-c", _CGROUP_SCRIPT, "hive-subagent-launch", str(stamp), str(leaf), *argv]
