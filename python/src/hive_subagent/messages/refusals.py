"""What a call is refused with when claude will not go on with its session."""

from __future__ import annotations

from hive_subagent.claude.outcome import Completed, Failed, Killed, Outcome, Stopped
from hive_subagent.messages.endings import killed_by
from hive_subagent.models.session import Cause, SessionView, State


def never_begun(name: str, why: str) -> str:
    """The error of a call whose run was stopped before claude was started."""
    return (
        f"subagent `{name}` was stopped ({why}) before claude was started: nothing of it ran; call"
        " again to have it run"
    )


def missed(
    *,
    name: str,
    words: str,
    config_dir: str,
    directory: str,
    before: SessionView | None,
    near: str = "",
) -> str:
    """The error of a `continue` that found no session, or several.

    `before` is how a session of ours ended; `near` names others that are known.
    """
    if before is None:
        fix = (
            "`dir` names the directory the session was started in; it cannot move a session to"
            " another one."
        )
    elif before.state is State.KILLED:
        fix = "A run that is killed early leaves nothing to go on with: `start` it anew."
    else:
        fix = (
            "It has run before, so its transcript was removed or moved since, or the directory was"
            " renamed: undo that, or `start` it anew."
        )
    return (
        f"claude did not resume `{name}`{near}: {words} (searched {config_dir} for directory"
        f" {directory}). {fix}"
    )


def open_elsewhere(*, name: str, session_id: str | None, holder: int) -> str:
    """The error of a call whose session another claude has open."""
    which = f"session {session_id} of `{name}`" if session_id else f"a session `{name}`"
    return (
        f"{which} is open in process {holder}: end that first, two of them would mix up its"
        " transcript"
    )


def stillborn(view: SessionView, outcome: Outcome) -> str:
    """The error of a run that died before its first event."""
    match outcome:
        case Failed(message=message):
            said = message
        case Killed() if view.cause is Cause.OOM and view.oom_scope == "run":
            said = f"{killed_by(view)}. Give it more `memory_max`"
        case Killed():
            said = killed_by(view)
        case Completed() | Stopped():
            said = "it answered without any event"
    return f"subagent `{view.name}` died before its first event: {said}"
