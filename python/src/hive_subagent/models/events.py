"""The events of the daemon that an operator follows, beside `RunEvent` for beginnings and ends.

Every model is frozen. `event` is its name; `id` is that of the run, the intervention or the notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from hive_subagent.models.notices import NoticeKind
from hive_subagent.models.session import BackgroundTask, Frozen, InterventionKind, InterventionState

GapReason = Literal["dropped", "another_daemon", "unknown_id"]
"""Why a reader does not get every event."""

InterventionEvent = Literal["intervention_queued", "intervention_delivered", "intervention_missed"]

INTERVENTION_EVENTS: Mapping[InterventionState, InterventionEvent] = {
    "queued": "intervention_queued",
    "delivered": "intervention_delivered",
    "missed": "intervention_missed",
}


class TurnBegan(Frozen):
    """A run with a goal was given its next turn, and has said something in it."""

    event: Literal["turn_began"] = "turn_began"
    id: str
    name: str
    session_id: str
    turn: int
    max_turns: int
    at: str


class BackgroundChanged(Frozen):
    """Background tasks of a run have begun or ended; `background` are those that go on."""

    event: Literal["background_changed"] = "background_changed"
    id: str
    name: str
    session_id: str
    background: list[BackgroundTask]
    at: str


class InterventionChanged(Frozen):
    """An intervention waits, has reached the subagent, or was left when the run ended."""

    event: InterventionEvent
    id: str
    name: str
    session_id: str
    kind: InterventionKind
    at: str


class NoticeChanged(Frozen):
    """A notice is owed to the sinks from now on, or one of them (`sink`) has taken it."""

    event: Literal["notice_owed", "notice_delivered"]
    id: str
    name: str | None = None
    kind: NoticeKind | None = None
    sink: str | None = None
    at: str


class Gap(Frozen):
    """In place of events that this reader does not get.

    `missed` counts events of this daemon. Where `reason` is `another_daemon`, the id that the
    reader named is of one before, and how many it missed of that is not known. `unknown_id`: no
    daemon has given such an id. `dropped`: more came than is kept.
    """

    event: Literal["gap"] = "gap"
    reason: GapReason
    missed: int
    instance: str


class StreamOpened(Frozen):
    """The first of each stream of events: it holds the id to go on from where nothing else comes.

    `last` is the number of the event before the next one, `kept` how many of them can be read.
    """

    event: Literal["stream_opened"] = "stream_opened"
    instance: str
    last: int
    kept: int
