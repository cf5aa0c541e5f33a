"""Refusals of a call for what its session, or another one, is doing."""

from __future__ import annotations

from collections.abc import Iterable

from hive_subagent.claude.outcome import Completed, Failed, Killed, Outcome, Stopped
from hive_subagent.messages.endings import killed_by
from hive_subagent.models.session import Cause, SessionView, State
from hive_subagent.system.sanitize import on_one_line


def queued_already(name: str) -> str:
    """The error of a call whose name waits for a place."""
    return f"subagent `{name}` waits in the queue already: interrupt it, or use another name"


def running_already(name: str) -> str:
    """The error of a call whose name runs."""
    return f"subagent `{name}` is running already: wait for it, interrupt it, or use another name"


def too_many(most: int, running: Iterable[str]) -> str:
    """The error of a call that would run one more than `max_running`."""
    return (
        f"max_running {most} is reached (running: {', '.join(running)}): wait for one of them, then"
        " call again"
    )


def unknown(name: str, near: str) -> str:
    """The error of a call about a name that never ran; `near` names others that are known."""
    return (
        f"nothing is known of a subagent `{name}`{near}: `start` it, or `continue` it with the"
        " `dir` it was started in if claude has a session of that name"
    )


def unknown_delegation(id: str, near: str) -> str:
    """The error of a call about a delegation that is not known, or not any more."""
    return (
        f"nothing is known of a delegation `{on_one_line(id[:80])}`{near}: look at its id; of one"
        " from before the daemon's last start only its notice tells, and `status` of its children"
        " by name"
    )


def delegation_over(id: str) -> str:
    """The error of an interrupt of a delegation that is over."""
    return f"nothing to interrupt: delegation `{id}` is over"


def left_no_session(name: str) -> str:
    """The error of a `continue` of a child that left nothing to go on with."""
    return (
        f"subagent `{name}` left no session to continue: it never began, or that could not be kept;"
        " `start` it anew"
    )


def begun_meanwhile(name: str) -> str:
    """The error of a `continue` whose name came to mean another session while it was looked up."""
    return f"another session `{name}` has begun meanwhile: call again"


def is_an_id(name: str) -> str:
    """The error of a `continue` by the id of a session of this daemon."""
    return (
        f"`{name}` is the id of a session of this daemon: `continue` it by its name, which `status`"
        " shows"
    )


def id_not_looked_up(name: str, reason: str) -> str:
    """The error of a `continue` where it cannot be seen whether its name is an id."""
    return (
        f"whether `{name}` is the id of a session of this daemon cannot be looked up ({reason}):"
        " call again"
    )


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
