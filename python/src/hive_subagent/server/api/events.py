"""`/api/v1/events`: the journal as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hive_subagent.models.events import Gap, StreamOpened
from hive_subagent.outbox.event_journal import Event, EventJournal, as_line
from hive_subagent.server.api.errors import transport_error

PATH = "/events"

LAST_EVENT_ID = "last-event-id"
"""The header, and the parameter of the query for a client that cannot set a header."""

SILENCE_S = 15.0
"""Seconds without an event after which a comment is sent: whoever is gone is noticed by that."""

AT_ONCE = 64 * 1024
"""Bytes that are handed on in one go; a reader that is slower waits in front of the next."""

_TYPE = "text/event-stream"


async def serve_events(journal: EventJournal, request: Request) -> Response:
    """Follow the journal until the caller hangs up or the daemon stops."""
    if journal.closed:
        return transport_error("the daemon is stopping: call again once it is back", 503)
    query = request.query_params.get(LAST_EVENT_ID)
    last_event_id = request.headers.get(LAST_EVENT_ID) or query
    position, gap = journal.position(last_event_id or None)
    return StreamingResponse(
        _stream(journal, position, gap),
        media_type=_TYPE,
        # for a proxy of nginx: hand each event on at once
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _stream(journal: EventJournal, position: int, gap: Gap | None) -> AsyncIterator[bytes]:
    opened = StreamOpened(instance=journal.instance, last=position, kept=journal.kept)
    begin = _frame(journal.id_of(position), opened)
    yield begin if gap is None else _frame(journal.id_of(position), gap) + begin
    while True:
        part = journal.read(position, most_bytes=AT_ONCE)
        position = part.position
        if part.entries:
            frames = [
                _lines(journal.id_of(entry.number), entry.event, entry.data)
                for entry in part.entries
            ]
            if part.gap is not None:
                before = journal.id_of(part.entries[0].number - 1)
                frames.insert(0, _frame(before, part.gap))
            yield b"".join(frames)
            continue
        if journal.closed:
            return
        with anyio.move_on_after(SILENCE_S) as silence:
            await journal.beyond(position)
        if silence.cancelled_caught:
            yield b":\n\n"


def _frame(id: str, event: Event) -> bytes:
    return _lines(id, event.event, as_line(event))


def _lines(id: str, event: str, data: bytes) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (id.encode(), event.encode(), data)
