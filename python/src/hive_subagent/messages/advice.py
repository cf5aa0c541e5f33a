"""What to do about a run that failed, by its cause."""

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
