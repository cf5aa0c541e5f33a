"""Every sentence that people and models read about a run; said once, repeated everywhere.

Each says what happened, what that means and the next move. None names a token or an argv.
"""

from __future__ import annotations

from collections.abc import Sequence

from hive_subagent.messages.advice import frozen, pids_refused
from hive_subagent.messages.endings import (
    ending,
    ending_sentence,
    killed_by,
    last_text,
    remaining,
    servers_missing,
    tools_lost,
)
from hive_subagent.models.replies import InterruptReply
from hive_subagent.models.session import (
    BackgroundTask,
    OpenTool,
    SessionView,
    State,
    StopReason,
    Undelivered,
)
from hive_subagent.system.sanitize import on_one_line

BROKEN = "the daemon itself failed at this; its log has the trace"

GIVEN_UP = "claude had its task by then and was ended: what it had begun with may be half done"

SHOWN_PROCESSES = 10
"""Dead processes that a text names; the structured content has more."""


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
            return ended(view)


def ended(view: SessionView) -> str:
    """How a session ended, as its notice says it, with the cost of its last run."""
    # a delegation's notice and a session's own fields have the cost by themselves
    return f"{ending(view)}\n\nCost: ${view.cost_usd:.4f}" if view.cost_usd else ending(view)


def line(view: SessionView) -> str:
    """One of several sessions, in a line, without its words."""
    match view.state:
        case State.QUEUED | State.STARTING:
            return describe(view)
        case State.RUNNING:
            return _signs_of_life(view)
        case _ if view.stop_reason is None:
            return describe(view)
        case _:
            return ending_sentence(view, whole=False) + tools_lost(view) + pids_refused(view)


def brief(view: SessionView) -> str:
    """One of many sessions, in a few words: whether something is to be done about it."""
    parts = f"`{view.name}`: {_in_short(view)}"
    return f"{parts}, of `{view.delegation}`" if view.delegation else parts


def _in_short(view: SessionView) -> str:
    match view.state:
        case State.QUEUED:
            return "waits in the queue"
        case State.STARTING:
            return f"starting, nothing heard for {_age(view.last_event_age_s)}"
        case State.RUNNING:
            turn = f", turn {view.turn} of {view.max_turns}" if view.goal else ""
            tool = f", in {view.open_tool.name}" if view.open_tool else ""
            waits = ", waits for its background work" if view.answers and view.background else ""
            return f"running{turn}, last event {_age(view.last_event_age_s)} ago{tool}{waits}"
    match view.stop_reason:
        case None:
            return "idle, how it ended is not known"
        case StopReason.TURN_ENDED:
            return "finished"
        case StopReason.GOAL_REACHED:
            return "goal reached by its own report"
        case StopReason.NEED_HELP:
            return "NEEDS HELP: answer it with `continue`"
        case StopReason.TURN_CAP:
            return f"goal not reached in {view.max_turns} turns"
        case StopReason.STOPPED:
            return "stopped by its owner"
        case StopReason.KILLED:
            return f"KILLED ({killed_by(view)})"
        case _:
            return "FAILED"


def _running(view: SessionView) -> str:
    guide = (
        "Seconds mean it works, and so does a quiet one that uses CPU; minutes of silence without"
        " either mean it may be stuck, then `interrupt` it."
    )
    parts = [_signs_of_life(view), guide]
    if view.interventions:
        waiting = ", ".join(f"{note.kind} {note.id}" for note in view.interventions)
        parts.append(f"Not arrived yet of your interventions: {waiting}.")
    return " ".join(parts)


def _signs_of_life(view: SessionView) -> str:
    turn = f", turn {view.turn} of {view.max_turns}" if view.goal else ""
    age = _age(view.last_event_age_s)
    parts = [f"`{view.name}` is running{turn}; its last sign of life was {age} ago."]
    if view.open_tool:
        parts.append(
            f"The tool {view.open_tool.name}{_of(view.open_tool)} has been open for"
            f" {_age(view.open_tool.age_s)}: quiet is normal while a tool runs."
        )
    if (retry := view.api_retry) is not None:
        error = on_one_line(retry.error)
        why = f"{retry.status} {error}" if retry.status else error
        parts.append(
            f"The API refused it ({why}); it tries again by itself in {retry.next_try_s:.0f} s,"
            f" attempt {retry.attempt} of {retry.max_retries}: nothing is lost yet."
        )
    if view.background:
        parts.append(background_open(view))
    if view.processes is not None and view.cpu_since_event_s is not None:
        stopped = view.processes.stopped
        held = f", {stopped} are stopped and need a SIGCONT" if stopped else ""
        parts.append(
            f"Since then it used {_at_least(view)}{view.cpu_since_event_s:.1f} s of CPU;"
            f" {view.processes.running} of its processes run,"
            f" {view.processes.sleeping} sleep{held}."
        )
    if missing := servers_missing(view):
        parts.append(missing)
    return " ".join(parts) + tools_lost(view) + pids_refused(view) + frozen(view)


def _at_least(view: SessionView) -> str:
    # without a cgroup the time of a process that has ended by itself is lost
    return "at least " if view.containment == "session" else ""


def _of(tool: OpenTool) -> str:
    return f" ({on_one_line(tool.input)})" if tool.input else ""


def background_open(view: SessionView) -> str:
    """The background work beside the turn of a running subagent."""
    tasks = "; ".join(_task(task) for task in view.background)
    if not view.answers:
        return f"Open in the background: {tasks}."
    return (
        f"Its turn has an answer, and open in the background: {tasks}. Quiet is normal now: it goes"
        f" on once they have ended, and is waited for at most {_age(view.background_wait_s)} from"
        " that answer on."
    )


def _task(task: BackgroundTask) -> str:
    return f"{task.kind} ({on_one_line(task.description)}), for {_age(task.age_s)}"


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def interrupted(
    reply: InterruptReply,
    view: SessionView,
    *,
    queued: bool,
    resumed: bool,
    older: str | None,
    remains: str = "",
) -> str:
    """The answer of `interrupt`.

    `queued` says that it only waited for a place, `resumed` that its session was there before it,
    `older` is the session that its name means where it left none, `remains` names
    processes that may be alive.
    """
    how = "by force" if reply.forced else "gently"
    if not reply.forced and view.signal == "SIGKILL":
        how = "by SIGKILL in the end"
    did = f"was stopped {how}"
    notice = "The delegation's notice" if view.delegation else "Its notice"
    nothing = "there is no session to `continue`: `start` it anew."
    if queued:
        did = f"was taken from the queue of delegation `{view.delegation}`"
        then = f"Nothing of it ran. {notice} says cancelled; {nothing}"
    elif not view.left_session:
        then = f"It had not begun. {notice} says so; {nothing}"
    elif view.stop_reason is None:
        left = "its session is as it was before." if resumed else nothing
        then = f"It had not said anything yet; {left}"
    elif view.stop_reason is StopReason.STOPPED and view.state is State.KILLED:
        then = f"{notice} says stopped, as your `stop` was waiting; `continue` resumes the session."
    elif view.state is State.KILLED:
        then = f"{notice} says killed; `continue` resumes the session."
    else:
        then = f"It had ended before that took effect: {ending_sentence(view)}"
    if older is not None:
        then += f" (Its name means the earlier session {older} again.)"
    if said := last_text(view):
        then += f"\n{said}"
    if remains:
        then += f"\n{remaining(remains)}"
    return f"`{reply.name}` {did}. {then}\n{_dead(reply)}"


def left_none(name: str, delegation: str, *, session_id: str) -> str:
    """A sentence on a name whose last child left no session."""
    return (
        f"This is the earlier session {session_id} of `{name}`: the child of that name in"
        f" delegation `{delegation}` left none."
    )


def cancelled(reply: InterruptReply, views: Sequence[SessionView]) -> str:
    """The answer of `interrupt` for a delegation."""
    how = "by force" if reply.forced else "gently"
    then = "\n".join(ending_sentence(view, whole=len(views) == 1) for view in views)
    said = "\n`status` with its id tells what each said." if len(views) > 1 else ""
    return (
        f"Delegation `{reply.name}` was cancelled {how}, its queue included.\n{then}{said}\n"
        f"{_dead(reply)}"
    )


def _dead(reply: InterruptReply) -> str:
    shown = ", ".join(f"{p.pid} {p.command}" for p in reply.processes[:SHOWN_PROCESSES])
    more = len(reply.processes) - SHOWN_PROCESSES + reply.left_out
    further = f" and {more} more" if more > 0 else ""
    return f"Processes that died with it: {shown or 'none left to end'}{further}"


def undelivered(note: Undelivered) -> str:
    """A sentence of a notice on an intervention that its run did not deliver."""
    text = on_one_line(note.text if len(note.text) <= 200 else note.text[:200] + "…")
    if note.kind == "stop":
        return f"Not carried out before the run ended otherwise: stop {note.id} ({text})."
    return (
        f"Not delivered before the run ended: {note.kind} {note.id} ({text}); it is kept for the"
        " next turn."
    )


def reports_left(files: Sequence[str]) -> str:
    """A sentence of a notice on report files that a subagent named and may not write."""
    named = ", ".join(on_one_line(file) for file in files)
    return (
        f"It named as its report file: {named}. Nothing was added there, since this subagent may"
        " not write wherever it likes."
    )
