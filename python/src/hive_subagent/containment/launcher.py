"""The few lines of shell that run between the spawn and claude, in the same process.

A shell because it starts in about a millisecond (an interpreter needs 15) and never
`preexec_fn`, which runs Python between fork and exec of a process with threads.
"""

from __future__ import annotations

from collections.abc import Sequence

CANNOT_ENTER = 125

_OOM_SCORE = 500  # under a limit of the whole service a child dies, never the daemon

# $1 is the stamp. dash calls the limit of file locks -w, bash -x. The shell's own variables are
# not passed on: a child's environment is an allow-list.
_MARK = (
    f"{{ echo {_OOM_SCORE} >/proc/self/oom_score_adj; }} 2>/dev/null; "
    '{ ulimit -S -w "$1" || ulimit -S -x "$1"; } 2>/dev/null; '
)
_GO = 'shift "$2"; unset PWD OLDPWD SHLVL; exec "$@"'

_SESSION = _MARK + _GO


def session(argv: Sequence[str], *, stamp: int) -> list[str]:
    """Raise the OOM score and set the stamp, both tolerant of failure, then become `argv`."""
    return ["/bin/sh", "-c", _SESSION, "hive-subagent-launch", str(stamp), "2", *argv]
