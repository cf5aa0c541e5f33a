"""The words of the contract for how a session stands and why its last run ended."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a session stands now; only a child of a delegation is ever queued."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    IDLE = "idle"
    NEED_HELP = "need_help"
    KILLED = "killed"
    FAILED = "failed"


class StopReason(StrEnum):
    """Why the last run ended; also the `kind` of its notice, save for `turn_ended`."""

    TURN_ENDED = "turn_ended"
    GOAL_REACHED = "goal_reached"
    NEED_HELP = "need_help"
    TURN_CAP = "turn_cap"
    STOPPED = "stopped"
    KILLED = "killed"
    FAILED = "failed"


class Cause(StrEnum):
    """What killed a run."""

    OOM = "oom"
    SIGNAL = "signal"
    INTERRUPT = "interrupt"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    DAEMON_STOP = "daemon_stop"


class FailureCause(StrEnum):
    """Why a run failed, as far as claude's words tell.

    `context`: the conversation or the request is too large; `blocked`: a hook ended the turn;
    `overloaded`: the API answers with a server error; `schema`: the output never fitted.
    """

    AUTH = "auth"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    CONTEXT = "context"
    MODEL = "model"
    REFUSAL = "refusal"
    BLOCKED = "blocked"
    MCP = "mcp"
    SCHEMA = "schema"
    OTHER = "other"
