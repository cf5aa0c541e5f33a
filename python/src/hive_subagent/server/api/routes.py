"""The routes of the operator API: each calls the service method that the tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hive_subagent.delegation.service import DelegationService
from hive_subagent.errors import Refused
from hive_subagent.intervention.service import InterventionService
from hive_subagent.models.replies import (
    DelegateReply,
    DelegationList,
    DoctorReport,
    InterruptReply,
    InterveneReply,
    NoticeList,
    OutputPart,
    SessionList,
    StartReply,
    StatusReply,
    WaitReply,
)
from hive_subagent.models.session import SessionView
from hive_subagent.models.transcript import TranscriptReply
from hive_subagent.outbox.event_journal import EventJournal
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.server.api import requests
from hive_subagent.server.api.doctor import Doctor
from hive_subagent.server.api.endpoints import Answer, Endpoint
from hive_subagent.server.api.output_file import read_output
from hive_subagent.sessions import checks
from hive_subagent.sessions.service import SessionService
from hive_subagent.settings import Settings


@dataclass(frozen=True)
class Services:
    """What the routes call."""

    settings: Settings
    sessions: SessionService
    interventions: InterventionService
    delegations: DelegationService
    outbox: Outbox
    journal: EventJournal
    doctor: Doctor


def endpoints(services: Services) -> Sequence[Endpoint[Any]]:
    """Every route that answers with JSON, in the order of the documentation."""
    return [*_looking(services), *_acting(services)]


def _looking(services: Services) -> Sequence[Endpoint[Any]]:
    sessions = services.sessions

    async def every(given: requests.ListRequest) -> Answer:
        return sessions.sessions(ended=given.ended, most=given.limit)

    async def one(given: requests.NameRequest) -> Answer:
        return await sessions.status(given.name)

    async def transcript(given: requests.TranscriptRequest) -> Answer:
        return await sessions.transcript(
            given.name, last=given.last, before=given.before, search=given.search
        )

    async def output(given: requests.OutputRequest) -> Answer:
        name = checks.check_name(given.name)
        if not services.settings.channels:
            raise Refused(
                "channels is off: no run has an output.txt; set it to true",
                kind="not_found",
                name="channels",
            )
        folder = services.settings.runtime / "channels" / name
        return read_output(folder, name, offset=given.offset, limit=given.limit)

    async def notices(given: requests.Nothing) -> Answer:
        return services.outbox.notices()

    async def doctor(given: requests.Nothing) -> Answer:
        return await services.doctor.report()

    async def delegations(given: requests.Nothing) -> Answer:
        return sessions.groups()

    async def delegation(given: requests.DelegationRequest) -> Answer:
        return await sessions.status_of_group(given.id)

    return [
        Endpoint(
            method="GET",
            path="/sessions",
            calls="sessions",
            takes=requests.ListRequest,
            gives=SessionList,
            handle=every,
            summary="All sessions of this daemon's life in short, unfinished ones first",
            has_text=False,
        ),
        Endpoint(
            method="GET",
            path="/sessions/{name}",
            calls="status",
            takes=requests.NameRequest,
            gives=SessionView,
            handle=one,
            summary="How a session is doing, or how it ended and what it answered",
        ),
        Endpoint(
            method="GET",
            path="/sessions/{name}/transcript",
            calls="transcript",
            takes=requests.TranscriptRequest,
            gives=TranscriptReply,
            handle=transcript,
            summary="What a session was told, said and did: its last entries, or those before one",
        ),
        Endpoint(
            method="GET",
            path="/sessions/{name}/output",
            calls="output",
            takes=requests.OutputRequest,
            gives=OutputPart,
            handle=output,
            summary="A part of output.txt: what a run says and does, a line each",
            has_text=False,
        ),
        Endpoint(
            method="GET",
            path="/delegations",
            calls="delegations",
            takes=requests.Nothing,
            gives=DelegationList,
            handle=delegations,
            summary="The last delegations of this daemon's life, with their sessions in short",
            has_text=False,
        ),
        Endpoint(
            method="GET",
            path="/delegations/{id}",
            calls="status",
            takes=requests.DelegationRequest,
            gives=StatusReply,
            handle=delegation,
            summary="How the sessions of a delegation are doing, or how they ended",
        ),
        Endpoint(
            method="GET",
            path="/notices",
            calls="notices",
            takes=requests.Nothing,
            gives=NoticeList,
            handle=notices,
            summary="Notices that a sink has yet to take, and the last that were delivered",
            has_text=False,
        ),
        Endpoint(
            method="GET",
            path="/doctor",
            calls="doctor",
            takes=requests.Nothing,
            gives=DoctorReport,
            handle=doctor,
            summary="Whether what the daemon depends on is as it has to be",
            has_text=False,
        ),
    ]


def _acting(services: Services) -> Sequence[Endpoint[Any]]:
    sessions = services.sessions

    async def start(given: requests.StartRequest) -> Answer:
        return await sessions.start(
            given.name,
            given.prompt_file,
            prompt=given.prompt,
            trigger=given.trigger,
            dir=given.dir,
            options=given.options,
        )

    async def continue_(given: requests.ContinueRequest) -> Answer:
        return await sessions.continue_(
            given.name, given.prompt, dir=given.dir, options=given.options
        )

    async def interrupt(given: requests.InterruptRequest) -> Answer:
        return await sessions.interrupt(given.name, force=given.force)

    async def intervene(given: requests.InterveneRequest) -> Answer:
        return await services.interventions.intervene(
            given.name, given.kind, given.text, now=given.now
        )

    async def wait(given: requests.WaitRequest) -> Answer:
        return await sessions.wait(
            [given.name], until="all", timeout_s=given.timeout_s, progress=_no_progress
        )

    async def wait_for(given: requests.WaitForRequest) -> Answer:
        return await sessions.wait(
            given.names, until=given.until, timeout_s=given.timeout_s, progress=_no_progress
        )

    async def delegate(given: requests.DelegateRequest) -> Answer:
        return await services.delegations.delegate(
            [task.asked for task in given.tasks],
            model=given.model,
            dir=given.dir,
            wait_policy=given.wait_policy,
            timeout_s=given.timeout_s,
        )

    return [
        Endpoint(
            method="POST",
            path="/sessions",
            calls="start",
            takes=requests.StartRequest,
            gives=StartReply,
            handle=start,
            summary="Start a new subagent; a finished one of that name is archived",
        ),
        Endpoint(
            method="POST",
            path="/sessions/{name}/continue",
            calls="continue",
            takes=requests.ContinueRequest,
            gives=StartReply,
            handle=continue_,
            summary="Give a session that is not running its next prompt",
        ),
        Endpoint(
            method="POST",
            path="/sessions/{name}/interrupt",
            calls="interrupt",
            takes=requests.InterruptRequest,
            gives=InterruptReply,
            handle=interrupt,
            summary="Stop a run, or a whole delegation, and all that it started",
        ),
        Endpoint(
            method="POST",
            path="/sessions/{name}/intervene",
            calls="intervene",
            takes=requests.InterveneRequest,
            gives=InterveneReply,
            handle=intervene,
            summary="Tell a running subagent something before its turn ends",
        ),
        Endpoint(
            method="POST",
            path="/sessions/{name}/wait",
            calls="wait",
            takes=requests.WaitRequest,
            gives=WaitReply,
            handle=wait,
            summary="Answered once a run, or a delegation, has ended, or at the timeout",
            long=True,
        ),
        Endpoint(
            method="POST",
            path="/wait",
            calls="wait",
            takes=requests.WaitForRequest,
            gives=WaitReply,
            handle=wait_for,
            summary="As wait of one session, for several or for all that run",
            long=True,
        ),
        Endpoint(
            method="POST",
            path="/delegations",
            calls="delegate",
            takes=requests.DelegateRequest,
            gives=DelegateReply,
            handle=delegate,
            summary="Hand out several tasks at once, each to a child of its own",
        ),
    ]


async def _no_progress(waited_s: float, running: int) -> None:
    """A caller of plain HTTP gets nothing before its answer."""
