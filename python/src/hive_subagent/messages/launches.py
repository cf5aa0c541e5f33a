"""The answers of `start` and `continue`, and where the notice of a run goes."""

from __future__ import annotations

from collections.abc import Sequence

from hive_subagent.messages.endings import killed_by, quoted, tools_lost
from hive_subagent.models.replies import StartReply
from hive_subagent.models.session import SessionView, State


def notices_go(kinds: Sequence[str]) -> str:
    """Where the notice of an ending goes, as the caller reads it; `kinds` are those of the sinks.

    No sink is known to reach the caller, and a directory reaches nobody by itself.
    """
    if not kinds:
        return "nothing else tells you."
    if set(kinds) == {"dir"}:
        return "nothing else tells you: the notice is only kept as a file for the operator."
    return f"the notice goes to the operator's sinks ({', '.join(kinds)}), which may not reach you."


def started(reply: StartReply, *, begun: bool, notice: str) -> str:
    """The answer of `start`; `notice` says where its notice goes."""
    archived = f" {reply.archived} earlier session of this name was archived." * bool(
        reply.archived
    )
    return (
        f"Subagent `{reply.name}` is {_pace(begun)} in {reply.dir}.{archived}"
        f" Call `wait` to learn how it ended; {notice}"
    )


def continued(
    reply: StartReply, *, before: SessionView, begun: bool, notice: str, which: str = ""
) -> str:
    """The answer of `continue`; it says when the run before was cut, and `which` session it is."""
    note = f" {which}" if which else ""
    if before.state is State.KILLED:
        note += (
            f" Its previous turn was KILLED ({killed_by(before)}): work of that turn may be half"
            " done, so have it check before it builds on it."
        )
    elif before.state is State.FAILED:
        said = f"; the error reported:\n{quoted(before.message)}\n" if before.message else "."
        note += f" Its previous run had failed{said}"
    if lost := tools_lost(before):
        note += f"{_space(note)}About that run:{lost}"
    return (
        f"Subagent `{reply.name}` goes on in {reply.dir} and is {_pace(begun)}.{note}"
        f"{_space(note)}Call `wait` to learn how this run ended; {notice}"
    )


def _space(before: str) -> str:
    # a quotation ends its own line
    return "" if before.endswith("\n") else " "


def _pace(begun: bool) -> str:
    return "running" if begun else "started, but has not said a word yet (look at `status`)"
