"""What to do about a run that failed, and about limits that it has met."""

from __future__ import annotations

from hive_subagent.models.session import FailureCause, SessionView

_ADVICE = {
    FailureCause.AUTH: (
        "Claude is not logged in here, or its login is refused. Neither you nor the subagent can"
        " change that: the operator has to log in for this daemon. Until then every run fails like"
        " this; `continue` it afterwards."
    ),
    FailureCause.OVERLOADED: (
        "The API had a fault of its own, which usually passes: `continue` it in a few minutes."
    ),
    FailureCause.CONTEXT: (
        "The conversation or its attachments are larger than the model can take, so `continue`"
        " would most likely fail again: `start` afresh with a smaller task, and let it read files"
        " in parts."
    ),
    FailureCause.MODEL: "`continue` it with another `model`, one that this account may use.",
    FailureCause.REFUSAL: (
        "The same request would be refused again: `start` afresh with a task that says what it is"
        " for, or take over."
    ),
    FailureCause.BLOCKED: (
        "The same prompt would most likely be refused again: `continue` it with another one. Where"
        " a hook of claude's own settings refused it, the operator can change that."
    ),
    FailureCause.MCP: (
        "It cannot do its task without that MCP server. Have the operator look at the daemon's log"
        " and configuration, then `continue` it."
    ),
    FailureCause.SCHEMA: (
        "Its output never fitted the schema: correct the schema or say in the prompt how to fill"
        " it, then `continue` it."
    ),
}


def advice(view: SessionView) -> str:
    """The next move after a failure, in whole sentences."""
    if not view.left_session:
        return "There is no session to `continue`: fix the cause, then `start` it anew."
    if view.cause is FailureCause.RATE_LIMIT:
        when = f"after {view.resets_at}, when the limit ends" if view.resets_at else "later"
        return (
            "The limit is that of the account, so other runs are likely to fail like this now:"
            f" `continue` it {when}."
        )
    other = "Fix the cause, then `continue` it or `start` afresh."
    return _ADVICE.get(view.cause, other) if isinstance(view.cause, FailureCause) else other


LEFT_WORTH_SAYING = 16 << 20
"""Bytes of memory without a living run from which on an ending mentions it."""


def size(count: int) -> str:
    """A number of bytes as people write it."""
    for unit, power in (("GiB", 3), ("MiB", 2), ("KiB", 1)):
        if count >= 1024**power:
            return f"{count / 1024**power:.4g} {unit}"
    return f"{count} bytes"


def pids_refused(view: SessionView) -> str:
    """A sentence on a limit of processes that a run met; empty where it met none."""
    if not view.pids_refused:
        return ""
    limit = f" of {view.pids_max} processes and threads" if view.pids_max else " of processes"
    times = "once" if view.pids_refused == 1 else f"{view.pids_refused} times"
    return (
        f" At its limit{limit} the kernel refused it a new one {times}: tools of it may have failed"
        " or wait for that."
    )


def frozen(view: SessionView) -> str:
    """A sentence on a frozen cgroup; empty for any other."""
    if view.processes is None or not view.processes.frozen:
        return ""
    return (
        " Its cgroup is FROZEN, most likely by itself: nothing of it runs, and it will not go on by"
        " itself; `interrupt` ends it."
    )


def left_memory(left_bytes: int | None) -> str:
    """A sentence on memory that belongs to no living run; empty where it is little."""
    if left_bytes is None or left_bytes < LEFT_WORTH_SAYING:
        return ""
    return (
        f" {size(left_bytes)} of the service's memory belong to no living run: ended runs left"
        " files in /dev/shm (or another tmpfs). Remove those that nobody needs, or each further run"
        " has that much less."
    )
