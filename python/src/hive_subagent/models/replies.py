"""The structured answers of the tools, of the operator API and of `/healthz`, one model each.

Every model is frozen.
"""

from __future__ import annotations

from typing import Literal

from hive_subagent.models.notices import Notice, NoticeKind
from hive_subagent.models.session import (
    Containment,
    Frozen,
    InterventionKind,
    InterventionState,
    Previous,
    ProcessInfo,
    SessionView,
    State,
    WaitPolicy,
)


class StartReply(Frozen):
    """The structured answer of `start` and `continue`."""

    name: str
    session_id: str
    dir: str
    pid: int
    archived: int
    previous: Previous | None = None


class StatusReply(Frozen):
    """The structured answer of `status` without a name; `left_out` counts those that did not fit.

    `left_memory_bytes` is shared memory of the service that belongs to no living run.
    """

    containment: Containment
    sessions: list[SessionView]
    left_out: int = 0
    left_memory_bytes: int | None = None


class SessionList(Frozen):
    """Every session that is wanted, for a program: of what it said only the beginning.

    `left_out` counts those beyond the wanted number. `unreadable` has a sentence for each whose
    record cannot be read. `running` and `queued` count all there are.
    """

    containment: Containment
    running: int
    queued: int
    max_running: int
    sessions: list[SessionView]
    left_out: int = 0
    unreadable: list[str]
    left_memory_bytes: int | None = None


class DelegationView(Frozen):
    """A delegation of this daemon's life; `over` once each session of it has ended."""

    delegation: str
    over: bool
    sessions: list[SessionView]


class DelegationList(Frozen):
    """The last delegations of this daemon's life, oldest first."""

    delegations: list[DelegationView]


class OutputPart(Frozen):
    """A part of `output.txt`, from byte `offset` to before `next_offset`, of `size` bytes.

    `began_anew`: the file has begun anew since the offset that was asked for.
    """

    name: str
    offset: int
    next_offset: int
    size: int
    began_anew: bool
    output: str


class Check(Frozen):
    """One thing that was looked at; `fix` says what to do where it is not `ok`."""

    check: str
    ok: bool
    detail: str
    fix: str | None


class DoctorReport(Frozen):
    """The answer of `doctor`; `ok` where every check is."""

    ok: bool
    checks: list[Check]


class OwedNotice(Frozen):
    """A notice that not every sink has taken; `sinks` are those that have not.

    `notice` is null where the disk does not give it now.
    """

    id: str
    name: str | None
    kind: NoticeKind | None
    at: str
    sinks: list[str]
    notice: Notice | None


class NoticeList(Frozen):
    """Owed notices, oldest first, and the last delivered of this daemon's life, newest first."""

    owed: list[OwedNotice]
    left_out: int = 0
    delivered: list[Notice]


class WaitReply(Frozen):
    """The structured answer of `wait`; `done` says whether the awaited runs are over.

    `left_out` counts the sessions that did not fit.
    """

    done: bool
    sessions: list[SessionView]
    left_out: int = 0


class InterruptReply(Frozen):
    """The structured answer of `interrupt`; `processes` died with the run, claude among them.

    `left_out` counts the processes that did not fit.
    """

    name: str
    session_id: str
    forced: bool
    ended: bool
    processes: list[ProcessInfo]
    left_out: int = 0


class InterveneReply(Frozen):
    """The structured answer of `intervene`: the receipt."""

    id: str
    name: str
    kind: InterventionKind
    state: InterventionState


class DelegatedChild(Frozen):
    """A child as `delegate` answers it; `timeout_s` is the time for its own work."""

    name: str
    role: str
    session_id: str
    dir: str
    state: State
    timeout_s: float


class DelegateReply(Frozen):
    """The structured answer of `delegate`; `delegation` goes wherever a name goes.

    `timeout_s` is the longest time that one of its children has.
    """

    delegation: str
    names: list[str]
    children: list[DelegatedChild]
    wait_policy: WaitPolicy
    timeout_s: float


class Health(Frozen):
    """The answer of `/healthz`. `agent` is the setting `agent_name`; `tasks` counts what the
    daemon's event loop has to do.

    Of the files in `state_dir`: `notices_waiting` are owed to a sink; `unsaved` notices and endings
    are held in memory only, since the disk refuses them; `unread` files cannot be read now, or by
    this version, and are kept; `set_aside` made no sense and are kept as `.broken`.
    """

    status: Literal["ok"] = "ok"
    version: str
    instance: str
    running: int
    agent: str | None = None
    tasks: int = 0
    notices_waiting: int = 0
    unsaved: int = 0
    unread: int = 0
    set_aside: int = 0
