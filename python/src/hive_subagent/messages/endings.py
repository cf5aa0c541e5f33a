"""How a run ended, as its notice says it. The words of a subagent stand in it as a quotation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hive_subagent.messages.advice import advice, left_memory, pids_refused, size
from hive_subagent.messages.prompts import turns
from hive_subagent.messages.text import RESULT_LIMIT, fit
from hive_subagent.models.session import Cause, SessionView, State, StopReason
from hive_subagent.system.sanitize import on_one_line

SELF_REPORTED = "self-reported by the subagent, not checked: look at the work before you rely on it"

REASON_LIMIT = 2000
"""Characters of an owner's reason that a sentence has; the session's `message` holds the whole."""

_REPORTED = (StopReason.GOAL_REACHED, StopReason.NEED_HELP)

_NO_SESSION = "There is no session to `continue`"

# all that a reader may take for a line's end; other control characters are shown as escapes
_LINE_END = re.compile(r"\r\n|[\n\x85\u2028\u2029]")


def quoted(words: str) -> str:
    """The words of a subagent, each line after a mark of ours: none can pass for a line of ours."""
    return "\n".join(f"> {line}" if line else ">" for line in _LINE_END.split(words))


def ending(view: SessionView) -> str:
    """How the last run of a session ended: the whole text of its notice."""
    parts = [ending_sentence(view) + tools_lost(view) + pids_refused(view)]
    if missing := servers_missing(view):
        parts.append(missing)
    if said := last_text(view):
        parts.append(said)
    if view.result:
        parts.append(f"{_whose_answer(view)}\n{quoted(view.result)}")
    elif view.result == "" and not view.result_cut:
        # its report by a tool stands in the sentence before
        beside = " beside that" if view.message and view.stop_reason in _REPORTED else ""
        parts.append(f"It said nothing{beside}.")
    if view.result_cut:
        file = view.result_file or view.transcript
        whole = f"; the whole is in {file}" if file else ""
        shown = len((view.result or "").encode())
        parts.append(f"(This answer is cut after {shown:,} bytes{whole}.)")
    parts += [*ended_with_it(view), *([_warned(view.warning)] if view.warning else [])]
    if view.report_file:
        parts.append(f"Report file: {view.report_file}")
    return "\n\n".join(parts)


def after_signals(message: str | None, *, need_help: str | None, goal_reached: str | None) -> str:
    """The message of a turn that broke, with what its subagent had reported before that."""
    said = (
        f"Before that it asked for help: {need_help}"
        if need_help is not None
        else f"Before that it reported its goal reached. {goal_reached}".strip()
    )
    return "\n".join([*([fit(message, limit=RESULT_LIMIT // 2)] if message else []), said])


def _whose_answer(view: SessionView) -> str:
    if view.result_beside_tool:
        said = "It ended without a word. The last that it said, before its last tool call"
        if (view.answers or 1) > 1:
            said = f"{said}, stands at the end of its {view.answers} answers"
        return f"{said}:"
    if (view.answers or 1) > 1:
        return f"Its {view.answers} answers, in their order:"
    return "Its last answer:"


def _warned(warning: str) -> str:
    return f"Claude itself warned:\n{quoted(warning)}"


def ended_with_it(view: SessionView) -> list[str]:
    """A sentence each on background tasks and processes that ended with a run."""
    sentences = []
    if view.ended_background:
        tasks = "; ".join(
            f"{task.kind} ({on_one_line(task.description)}), open for {task.age_s:.0f} s"
            for task in view.ended_background
        )
        sentences.append(f"Ended with it, not finished, in the background: {tasks}.")
    if view.ended_processes:
        processes = ", ".join(f"{p.pid} {p.command}" for p in view.ended_processes)
        sentences.append(f"Processes that it left behind were ended: {processes}.")
    return sentences


def ending_sentence(view: SessionView, *, whole: bool = True) -> str:
    """The ending, its meaning and the next move; with the words of the subagent if `whole`."""
    name = f"`{view.name}`"
    said = f" It said:\n{quoted(view.message)}" if whole and view.message else ""
    # of claude or the daemon, no words of the subagent
    why = f". The error reported:\n{quoted(view.message)}\n" if whole and view.message else ". "
    until_then = f" Reported until then:\n{quoted(view.message)}" if whole and view.message else ""
    goal = f" Goal: {view.goal}." if whole else ""
    # a sentence of ours that follows a quotation begins a line of its own
    then = "\n" if said else " "
    match view.stop_reason:
        case StopReason.TURN_ENDED:
            return f"Subagent {name} finished its turn.{said}"
        case StopReason.GOAL_REACHED:
            return (
                f"Subagent {name} reports its goal reached in turn {view.turn} of"
                f" {view.max_turns} ({SELF_REPORTED}).{goal}{said}"
            )
        case StopReason.NEED_HELP:
            return (
                f"Subagent {name} NEEDS HELP and waits for an answer.{said}{then}Answer it with"
                " `continue`."
            )
        case StopReason.TURN_CAP:
            return (
                f"Subagent {name} stopped at the harness limit of {turns(view.max_turns)}; its"
                f" goal was never reported reached.{goal} Look at what it did, then `continue` it"
                f" with more turns or take over.{said}"
            )
        case StopReason.STOPPED:
            what = "It did NOT finish."
            if view.state is State.KILLED:
                what += f" It was killed mid-turn before it came to a step ({killed_by(view)})."
            elif view.result or view.result_cut:
                # an answer of the turn: background work may have opened it again since, and the
                # stop may have come after a step of that
                what = "Its turn had an answer by then; nothing further was begun."
            # the owner's own words: one line of ours, and none of the subagent's
            reason = f": {_cut(on_one_line(view.message))}." if whole and view.message else "."
            return f"Subagent {name} was stopped by its owner{reason} {what} `continue` resumes it."
        case StopReason.KILLED if not view.left_session:
            did = f"never began ({killed_by(view)}); nothing was done"
            if view.message:  # the daemon's own: a session was left that cannot go on
                did = f"was KILLED as it began ({killed_by(view)}): {on_one_line(view.message)}"
            return f"Subagent {name} {did}. {_NO_SESSION}: `start` it anew."
        case StopReason.KILLED:
            return (
                f"Subagent {name} was KILLED mid-turn ({killed_by(view)}); it did NOT finish."
                f" Work of this turn may be half done. `continue` resumes it.{until_then}"
            )
        case _ if not view.left_session:
            return f"Subagent {name} FAILED as it began{why}{advice(view)}"
        case _:
            return f"Subagent {name} FAILED without finishing{why}{advice(view)}"


def _cut(words: str) -> str:
    return words if len(words) <= REASON_LIMIT else words[:REASON_LIMIT] + "…"


def killed_by(view: SessionView) -> str:
    """The cause of a kill, in a few words."""
    by = f" by {view.signal}" if view.signal else ""
    match view.cause:
        case Cause.OOM:
            return f"out of memory: {_oom(view)}"
        case Cause.INTERRUPT:
            return f"interrupted{by}"
        case Cause.TIMEOUT:
            limit = f"the {view.turn_timeout_s:g} s that " if view.turn_timeout_s else ""
            return f"its turn took longer than {limit}it was given; ended{by}"
        case None if view.signal:
            return f"ended{by}; whether it was out of memory is not known"
        case Cause.CANCELLED if not view.left_session:
            return "cancelled before its work began"
        case Cause.CANCELLED:
            return f"cancelled with its delegation{by}"
        case Cause.DAEMON_STOP:
            return f"the daemon stopped{by}"
        case _:
            return f"ended{by or ' by a signal'} from outside"


def _oom(view: SessionView) -> str:
    peak = f"; its peak was {size(view.peak_memory_bytes)}" if view.peak_memory_bytes else ""
    return f"the kernel killed claude {_at_which_limit(view)}{peak}"


def _at_which_limit(view: SessionView) -> str:
    match view.oom_scope:
        case "run":
            limit = f" of {size(view.memory_max_bytes)}" if view.memory_max_bytes else ""
            return f"at this run's own limit{limit}"
        case "service":
            left = left_memory(view.left_memory_bytes)
            return f"at the limit of the whole service{f' ({left.strip()})' if left else ''}"
        case _:
            return "at a limit above this service's, or the machine's own"


def tools_lost(view: SessionView) -> str:
    """A sentence on tools that the kernel killed out of memory; empty where there was none."""
    kills = view.oom_kills or 0
    if view.cause is Cause.OOM:
        kills -= 1
    if kills <= 0:
        return ""
    what = "a tool" if kills == 1 else f"{kills} tool processes"
    if view.cause is Cause.OOM:
        return f" Beside claude the kernel killed {what} of it."
    return f" The kernel killed {what} of it {_at_which_limit(view)}; claude itself went on."


def last_text(view: SessionView) -> str:
    """The last text of a run that gave no answer; empty where there is none."""
    return f"The last that it said:\n{quoted(view.last_text)}" if view.last_text else ""


def servers_missing(view: SessionView) -> str:
    """The MCP servers that a run had to do without; empty where there was none."""
    if not view.mcp_servers:
        return ""
    named = ", ".join(
        f"{on_one_line(server.name)} ({on_one_line(server.status)})" for server in view.mcp_servers
    )
    return f"MCP servers that did not connect, so that it has none of their tools: {named}."


def not_kept(
    problems: Iterable[str | None], *, remains: str, limit: int | None, holds: int | None
) -> list[str]:
    """The sentences of a notice on promises that did not hold.

    `problems` are sentences already, `remains` names processes that may be alive, `limit` is the
    memory limit that did not hold, `holds` the one at the end.
    """
    said = [problem for problem in problems if problem is not None]
    if remains:
        said.append(remaining(remains))
    if limit is not None:
        said.append(limit_lost(limit, holds))
    return said


def remaining(what: str) -> str:
    """A sentence on processes that may still be alive."""
    return (
        f"Not all of it is known to be dead: {on_one_line(what)}. The daemon tries again at later"
        " ends and at its next start; its log has more."
    )


def limit_lost(set_to: int, holds: int | None) -> str:
    """A sentence on a memory limit that its run, most likely, has changed."""
    now = f"was {size(holds)}" if holds is not None else "was none"
    return (
        f"Its memory limit of {size(set_to)} did not hold: at the end there {now}. Something with"
        " its user has changed it, most likely itself."
    )
