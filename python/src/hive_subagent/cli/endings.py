"""The exit code of `run` and `wait`, by how runs ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

REFUSED = 1
"""The call was refused, the daemon cannot be reached, or a wait was over before the run."""

CODES: Mapping[str, int] = {
    "turn_ended": 0,
    "goal_reached": 0,
    "need_help": 10,
    "turn_cap": 11,
    "stopped": 12,
    "killed": 13,
    "failed": 14,
    "lost": 15,
    "budget": 16,
}
"""By the `stop_reason` of a session object."""

LIVE = frozenset({"queued", "starting", "running", "waiting_limit"})
"""The states in which a run goes on."""


def lives(session: Mapping[str, Any]) -> bool:
    """Whether a run of the session goes on, or is to begin."""
    return session.get("state") in LIVE


def exit_code(session: Mapping[str, Any]) -> int:
    """The code for one session. An ending that is not known counts as failed."""
    if lives(session):
        return REFUSED
    return CODES.get(str(session.get("stop_reason")), CODES["failed"])


def worst(sessions: Iterable[Mapping[str, Any]]) -> int:
    """The highest code of several; 0 where there are none."""
    return max((exit_code(session) for session in sessions), default=0)


def in_words(session: Mapping[str, Any]) -> str:
    """How a session stands, in a few words: its state, and what killed or failed it."""
    state = str(session.get("state"))
    reason, cause = session.get("stop_reason"), session.get("cause")
    if lives(session) or reason is None:
        return state
    ended = "finished" if reason == "turn_ended" else str(reason).replace("_", " ")
    return f"{ended} ({str(cause).replace('_', ' ')})" if cause else ended
