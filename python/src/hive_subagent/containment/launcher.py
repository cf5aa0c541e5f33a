"""The few lines of shell that run between the spawn and claude, in the same process.

A shell because it starts in about a millisecond (an interpreter needs 15) and never
`preexec_fn`, which runs Python between fork and exec of a process with threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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

_SESSION = _MARK + "shift; " + _GO
_CGROUP = _ENTER + _MARK + "shift 2; " + _GO


def session(argv: Sequence[str], *, stamp: int) -> list[str]:
    """Raise the OOM score and set the stamp, both tolerant of failure, then become `argv`."""
    return ["/bin/sh", "-c", _SESSION, "hive-subagent-launch", str(stamp), *argv]


def cgroup(argv: Sequence[str], *, stamp: int, leaf: Path) -> list[str]:
    """Enter the cgroup first, or exit with `CANNOT_ENTER`; then as `session`."""
    return ["/bin/sh", "-c", _CGROUP, "hive-subagent-launch", str(stamp), str(leaf), *argv]
