"""The session object, and other parts of the tools' answers; those are in `replies`.

Every model is frozen. Ages and grace times are seconds, sizes bytes, costs US dollars.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


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
    """Why a run failed, as far as claude's words show.

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


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


Containment = Literal["cgroup", "session"]
"""How a run is kept together: a cgroup of its own, or its session and marks."""

OomScope = Literal["run", "service", "machine"]
"""Whose memory limit a process died at."""

WaitPolicy = Literal["all", "fail_fast"]
"""When a delegation is over: when each child has ended by itself, or once one of them failed."""


InterventionKind = Literal["stop", "redirect", "info"]

InterventionState = Literal["queued", "delivered", "missed"]
"""`delivered`: claude has consumed it; `missed`: the run ended first."""


class OpenTool(Frozen):
    """A tool call that has been announced and not answered yet.

    `input` is the beginning of what it was called with, on one line.
    """

    name: str
    age_s: float
    input: str = ""


class McpServerStatus(Frozen):
    """An MCP server that a run was given and that did not connect; `status` is claude's word."""

    name: str
    status: str


class ApiRetry(Frozen):
    """The API refused a request and claude tries again by itself.

    `attempt` of `max_retries` is next, in `next_try_s` seconds; `status` is HTTP's, null where
    no answer came; `error` is claude's word for it.
    """

    attempt: int
    max_retries: int
    next_try_s: float
    status: int | None
    error: str


class ProcessInfo(Frozen):
    """A process that died with a run; `command` is its argv by spaces.

    For a tool of claude it is the tool's command, for claude itself the name of its program; what a
    tool answers holds 200 characters of it.
    """

    pid: int
    command: str


class BackgroundTask(Frozen):
    """A task that goes on beside a turn.

    `kind` is `agent`, `shell`, `monitor`, `workflow`, or claude's own word.
    """

    kind: str
    description: str
    age_s: float


class PendingIntervention(Frozen):
    """An intervention that has not arrived yet."""

    id: str
    kind: InterventionKind
    state: InterventionState
    age_s: float


class Undelivered(Frozen):
    """An intervention that no run of its session has delivered.

    `message` is the uuid of the one that was to carry it, where one was sent.
    """

    id: str
    kind: InterventionKind
    text: str
    message: str | None = None


class Processes(Frozen):
    """The living processes of a run: `running` have or want a CPU or a disk now.

    `stopped` ones go on only when somebody lets them: SIGSTOP, or a debugger. Where `frozen` is
    true the run's cgroup is frozen, and none of them runs.
    """

    running: int
    sleeping: int
    stopped: int = 0
    frozen: bool = False


class Previous(Frozen):
    """How the run before this one ended, where that matters to the caller of `continue`."""

    state: State
    cause: Cause | FailureCause | None
    signal: str | None


class RunFigures(Frozen):
    """How a run stands or ended, and what it has used; null where unknown or not counted.

    `message` is what need_help asked, what the goal's report or an owner's stop said, or claude's
    own words for a failure. `resets_at` is when the limit ends that a run failed at (RFC 3339,
    UTC), `last_text` the last that a run said which gave no answer. `oom_kills` counts the
    processes that the kernel killed out of memory, claude or its tools, at the limit of
    `oom_scope`. `pids_refused` counts the processes and threads that it refused at the run's limit
    of `pids_max`. `left_memory_bytes` is shared memory of the service that belongs to no living
    run. `cost_usd` is this run's share. `result` holds as many `answers`; where
    `result_beside_tool` is true, the last of them is what the turn said before its last tool call,
    since it ended without a word. `ended_background` are the background tasks that ended with the
    run, `ended_processes` what it left behind otherwise. `warning` is claude's own.
    """

    message: str | None = None
    resets_at: str | None = None
    result: str | None = None
    result_file: str | None = None
    last_text: str | None = None
    mcp_servers: list[McpServerStatus] = []
    answers: int | None = None
    result_beside_tool: bool = False
    warning: str | None = None
    ended_background: list[BackgroundTask] = []
    ended_processes: list[ProcessInfo] = []
    turn: int = 1
    max_turns: int = 1
    turn_timeout_s: float | None = None
    background_wait_s: float | None = None
    cost_usd: float | None = None
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    memory_max_bytes: int | None = None
    oom_kills: int | None = None
    oom_scope: OomScope | None = None
    pids_max: int | None = None
    pids_refused: int | None = None
    left_memory_bytes: int | None = None
    containment: Containment | None = None


class SessionView(RunFigures):
    """One session as `status` and `wait` show it.

    `age_s` to `background` are there while it runs, `age_s` counts from its beginning;
    `cpu_since_event_s` and `processes` are evidence of life. `ended_at` is when its last run ended
    (RFC 3339, UTC). `delegation` is that of the current or last run. Where
    `result_cut` is true, `result` is not the whole, and `transcript` is claude's file that is.
    """

    name: str
    session_id: str
    dir: str
    state: State
    stop_reason: StopReason | None = None
    cause: Cause | FailureCause | None = None
    signal: str | None = None
    ended_at: str | None = None
    age_s: float | None = None
    last_event_age_s: float | None = None
    open_tool: OpenTool | None = None
    api_retry: ApiRetry | None = None
    cpu_since_event_s: float | None = None
    processes: Processes | None = None
    interventions: list[PendingIntervention] = []
    background: list[BackgroundTask] = []
    goal: str | None = None
    report_file: str | None = None
    role: str | None = None
    delegation: str | None = None
    result_cut: bool = False
    transcript: str | None = None

    @property
    def left_session(self) -> bool:
        """Whether there is a session that can go on: its turn is 0 where a child left none."""
        return self.turn != 0
