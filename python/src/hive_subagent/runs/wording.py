"""Every sentence that people and models read about a run; said once, repeated everywhere.

Each tells what happened, what that means and the next move. None names a token or an argv.
"""

from __future__ import annotations

from collections.abc import Sequence

from hive_subagent.models import (
    Cause,
    InterruptReply,
    SessionView,
    StartReply,
    State,
    StopReason,
    Undelivered,
    WaitReply,
)
from hive_subagent.runs.prompts import turns
from hive_subagent.visible import on_one_line

BROKEN = "the daemon itself failed at this; its log has the trace"

SELF_REPORTED = "self-reported by the subagent, not checked: look at the work before you rely on it"


def started(reply: StartReply, *, begun: bool) -> str:
    """The answer of `start`."""
    archived = f" {reply.archived} earlier session of this name was archived." * bool(
        reply.archived
    )
    return (
        f"Subagent `{reply.name}` is {_pace(begun)} in {reply.dir}.{archived}"
        f" You will be told once how it ended; `wait` waits for that, `status` looks without cost."
    )


def continued(reply: StartReply, *, before: SessionView, begun: bool) -> str:
    """The answer of `continue`; says so when the run before was cut."""
    note = ""
    if before.state is State.KILLED:
        note = (
            f" Its previous turn was KILLED ({killed_by(before)}): work of that turn may be half"
            " done, so have it check before it builds on it."
        )
    elif before.state is State.FAILED:
        note = f" Its previous run had failed: {before.message}"
    if lost := _tools_lost(before):
        note += f" About that run:{lost}"
    return (
        f"Subagent `{reply.name}` goes on in {reply.dir} and is {_pace(begun)}.{note}"
        " You will be told once how this run ended."
    )


def _pace(begun: bool) -> str:
    return "running" if begun else "started, but has not said a word yet (look at `status`)"


def killed_by(view: SessionView) -> str:
    """What killed a run, in a few words."""
    by = f" by {view.signal}" if view.signal else ""
    match view.cause:
        case Cause.OOM:
            return f"out of memory: {_oom(view)}"
        case Cause.INTERRUPT:
            return f"interrupted{by}"
        case Cause.TIMEOUT:
            return f"its turn took longer than it was given; ended{by}"
        case Cause.CANCELLED:
            return f"cancelled with its delegation{by}"
        case Cause.DAEMON_STOP:
            return f"the daemon stopped{by}"
        case _:
            return f"ended{by or ' by a signal'} from outside"


def _oom(view: SessionView) -> str:
    peak = f"; its peak was {_size(view.peak_memory_bytes)}" if view.peak_memory_bytes else ""
    return f"the kernel killed claude {_at_which_limit(view)}{peak}"


def _at_which_limit(view: SessionView) -> str:
    match view.oom_scope:
        case "run":
            limit = f" of {_size(view.memory_max_bytes)}" if view.memory_max_bytes else ""
            return f"at this run's own limit{limit}"
        case "service":
            return "at the limit of the whole service"
        case _:
            return "at a limit above this service's, or the machine's own"


def _tools_lost(view: SessionView) -> str:
    kills = view.oom_kills or 0
    if view.cause is Cause.OOM:
        kills -= 1
    if kills <= 0:
        return ""
    what = "a tool" if kills == 1 else f"{kills} tool processes"
    if view.cause is Cause.OOM:
        return f" Beside claude the kernel killed {what} of it."
    return f" The kernel killed {what} of it {_at_which_limit(view)}; claude itself went on."


def _size(size: int) -> str:
    for unit, power in (("GiB", 3), ("MiB", 2), ("KiB", 1)):
        if size >= 1024**power:
            return f"{size / 1024**power:.4g} {unit}"
    return f"{size} bytes"


def describe(view: SessionView) -> str:
    """One session as `status` and `wait` say it."""
    match view.state:
        case State.QUEUED:
            return (
                f"`{view.name}` waits in the queue of delegation `{view.delegation}` for a place to"
                " run in; its time has not begun."
            )
        case State.STARTING:
            age = _age(view.last_event_age_s)
            return f"`{view.name}` is starting, without a word for {age}. Look again."
        case State.RUNNING:
            return _running(view)
        case _ if view.stop_reason is None:
            return (
                f"`{view.name}` is idle; how its last run ended is not known."
                " `continue` gives it another turn."
            )
        case _:
            return ending(view)


def _running(view: SessionView) -> str:
    turn = f", turn {view.turn} of {view.max_turns}" if view.goal else ""
    age = _age(view.last_event_age_s)
    told = [f"`{view.name}` is running{turn}; its last sign of life was {age} ago."]
    if view.open_tool:
        told.append(
            f"The tool {view.open_tool.name} has been open for {_age(view.open_tool.age_s)}: quiet"
            " is normal while a tool runs."
        )
    if (retry := view.api_retry) is not None:
        why = f"{retry.status} {retry.error}" if retry.status else retry.error
        told.append(
            f"The API refused it ({why}); it tries again by itself in {retry.next_try_s:.0f} s,"
            f" attempt {retry.attempt} of {retry.max_retries}: nothing is lost yet."
        )
    if view.processes is not None and view.cpu_since_event_s is not None:
        told.append(
            f"Since then it used {view.cpu_since_event_s:.1f} s of CPU;"
            f" {view.processes.running} of its processes run, {view.processes.sleeping} sleep."
        )
    told.append(
        "Seconds mean it works, and so does a quiet one that uses CPU; minutes of silence without"
        " either mean it may be stuck, then `interrupt` it."
    )
    if view.interventions:
        told.append(f"{len(view.interventions)} of your interventions have not arrived yet.")
    return " ".join(told) + _tools_lost(view)


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def ending(view: SessionView) -> str:
    """How the last run of a session ended: the whole text of its notice."""
    parts = [_ending_sentence(view) + _tools_lost(view)]
    if view.result:
        parts.append(f"Its last answer:\n{view.result}")
    if view.report_file:
        parts.append(f"Report file: {view.report_file}")
    return "\n\n".join(parts)


def _ending_sentence(view: SessionView) -> str:
    name, said = f"`{view.name}`", f" It said: {view.message}" if view.message else ""
    match view.stop_reason:
        case StopReason.TURN_ENDED:
            return f"Subagent {name} finished its turn.{said}"
        case StopReason.GOAL_REACHED:
            return (
                f"Subagent {name} reports its goal reached in turn {view.turn} of"
                f" {view.max_turns} ({SELF_REPORTED}). Goal: {view.goal}.{said}"
            )
        case StopReason.NEED_HELP:
            return (
                f"Subagent {name} NEEDS HELP and waits for an answer.{said}\n"
                f"Answer it with `continue`."
            )
        case StopReason.TURN_CAP:
            return (
                f"Subagent {name} stopped at the harness limit of {turns(view.max_turns)}; its"
                f" goal was never reported reached. Goal: {view.goal}. Look at what it did, then"
                f" `continue` it with more turns or take over.{said}"
            )
        case StopReason.STOPPED:
            how = (
                f" It came to no step in time and was killed mid-turn ({killed_by(view)})."
                if view.state is State.KILLED
                else ""
            )
            return (
                f"Subagent {name} was stopped by its owner: {view.message}\nIt did NOT finish.{how}"
                " `continue` resumes it."
            )
        case StopReason.KILLED if view.turn == 0:
            return f"Subagent {name} never began ({killed_by(view)}); nothing was done.{said}"
        case StopReason.KILLED:
            return (
                f"Subagent {name} was KILLED mid-turn ({killed_by(view)}); it did NOT finish."
                f" Work of this turn may be half done. `continue` resumes it.{said}"
            )
        case _:
            return (
                f"Subagent {name} FAILED without finishing.{said}\n"
                "Mend the cause, then `continue` it or `start` afresh."
            )


def interrupted(reply: InterruptReply, view: SessionView) -> str:
    """The answer of `interrupt`."""
    how = "by force" if reply.forced else "gently"
    if not reply.forced and view.signal == "SIGKILL":
        how = "by SIGKILL in the end"
    dead = ", ".join(f"{p.pid} {p.command}" for p in reply.processes) or "none left to end"
    if view.stop_reason is None:
        told = "It had not said anything yet."
    elif view.state is State.KILLED:
        told = "Its notice says killed; `continue` resumes the session."
    else:
        told = f"It had ended before that took effect: {_ending_sentence(view)}"
    return f"`{reply.name}` was stopped {how}. {told}\nProcesses that died with it: {dead}"


def cancelled(reply: InterruptReply, views: Sequence[SessionView]) -> str:
    """The answer of `interrupt` for a delegation."""
    how = "by force" if reply.forced else "gently"
    dead = ", ".join(f"{p.pid} {p.command}" for p in reply.processes) or "none left to end"
    told = "\n".join(_ending_sentence(view) for view in views)
    return (
        f"Delegation `{reply.name}` was cancelled {how}, its queue included.\n{told}\n"
        f"Processes that died with it: {dead}"
    )


def waited(reply: WaitReply, *, stopping: bool) -> str:
    """The answer of `wait`."""
    if not reply.sessions:
        return "Nothing is running, so there is nothing to wait for."
    told = "\n\n".join(describe(view) for view in reply.sessions)
    if stopping:
        return f"The daemon is stopping and ends its subagents.\n{told}"
    if not reply.done:
        return f"Not ended yet when the time was up; `wait` again or look later.\n{told}"
    return told


def undelivered(note: Undelivered) -> str:
    """What a notice says of an intervention that its run did not deliver."""
    text = note.text if len(note.text) <= 200 else note.text[:200] + "…"
    after = "" if note.kind == "stop" else "; it is kept for the next turn"
    return f"Not delivered before the run ended: {note.kind} {note.id} ({text}){after}."


def reports_left(files: Sequence[str]) -> str:
    """What a notice says of report files that a subagent named without being able to write them."""
    named = ", ".join(on_one_line(file) for file in files)
    return (
        f"It named as its report file: {named}. Nothing was added there, since this subagent may"
        " not write wherever it likes."
    )
