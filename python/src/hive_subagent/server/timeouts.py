"""The time limits of one HTTP connection: for a header, and for reading an answer."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from hive_subagent.server.connections import HEADER_BYTES, Connections, Pending, Standing

HEADER_S = 10.0
"""Seconds from a connection's beginning, or from an answer, to the end of the next header."""

WRITE_S = 60.0
"""Seconds in which a caller has to read on once the system's buffers are full."""

PIECES = 64
"""Pieces that a body may come in whatever their size."""

PIECE_BYTES = 256
"""Average size of the further pieces. Each costs as much time as it would with 16 KiB."""


class _Framing(h11.Connection):
    """h11's parser, which refuses a body in many small pieces.

    Each piece takes some 25 µs. A megabyte in chunks of one byte would hold up everybody else for
    half a minute.
    """

    _pieces = _bytes = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._pieces += 1
            self._bytes += len(event.data)
            if self._pieces > PIECES + self._bytes // PIECE_BYTES:
                raise h11.RemoteProtocolError("the body comes in too many small pieces")
        return event


class TimedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1, which closes the connection of a caller that neither sends nor reads.

    Uvicorn bounds the silence between two requests alone, and any byte ends that: neither what
    comes before the first header's end, nor a second header that stops half-way, nor the rest of
    a body whose request is answered already. It never gives up a caller that does not read.
    """

    standing: Standing
    _connections: Connections | None = None
    _pending: Pending | None = None
    _busy = False
    _timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def replace(self, pending: Pending, connections: Connections) -> None:
        """Count in its place as soon as the connection is made."""
        self._pending, self._connections = pending, connections

    def drop(self) -> None:
        """End the connection at once, with whatever has not been sent."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.conn = _Framing(h11.SERVER, HEADER_BYTES)
        self.standing = Standing()
        self.app_state = {**self.app_state, "standing": self.standing}
        super().connection_made(transport)
        if self._connections is not None and self._pending is not None:
            self._count_in_place_of(self._pending, self._connections)
            self._pending = None
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()
        self._bound_flush()

    def connection_lost(self, exc: Exception | None) -> None:
        # a timer keeps what it calls in memory
        self._stop_timer()
        self._stop_write_timer()
        if self._connections is not None:
            self._connections.remove(self)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_write_timer()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._bound_flush()

    def send_400_response(self, msg: str) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            # an answer is under way already
            self.transport.close()
        self._bound_flush()
        if cycle is not None:
            # the app must not answer behind the refusal
            cycle.disconnected = True
            cycle.message_event.set()

    def _count_in_place_of(self, pending: Pending, connections: Connections) -> None:
        if pending.dropped:
            self.transport.abort()
            return
        connections.remove(pending)
        connections.add(self, pending.group)

    def _watch(self) -> None:
        # uvicorn declares `cycle` as never None, and begins with None
        cycle: RequestResponseCycle | None = self.cycle
        answering = cycle is not None and not cycle.response_complete
        if answering:
            self._stop_timer()
        elif self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(HEADER_S, self._hang_up)
        # a caller that still owes the rest of a body has nothing to lose
        self._count_as(busy=cycle is not None and answering and not cycle.more_body)

    def _count_as(self, *, busy: bool) -> None:
        if busy is self._busy or self._connections is None:
            return
        self._busy = busy
        (self._connections.busy if busy else self._connections.idle)(self)

    def _hang_up(self) -> None:
        self.transport.close()
        self._bound_flush()

    def _bound_flush(self) -> None:
        # closing waits for the caller to read what was sent
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self._watch_writing()

    def _watch_writing(self) -> None:
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_S, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
