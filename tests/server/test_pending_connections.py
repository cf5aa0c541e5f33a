"""Connections on which no whole header has come yet (issue 10, 9)."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from hive_subagent.server.connections import HEADER_BYTES, Connections, Pending, PendingConnections


class World:
    """One such connection: what its caller holds, and what was handed over."""

    def __init__(self) -> None:
        self.handed: list[Pending] = []
        self.connections = Connections(9)
        self.pending = PendingConnections(self.connections, self.handed.append)
        self.caller, accepted = socket.socketpair()
        accepted.setblocking(False)
        self.pending.add(accepted, "group", 1.0)

    def said(self, data: bytes) -> int:
        """What counts after this; the daemon has looked."""
        self.caller.sendall(data)
        self.pending.look()
        return len(self.handed)


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    with made.caller:
        yield made
        made.pending.close()
    for each in made.handed:
        each.socket.close()


@pytest.mark.parametrize("end", [b"\r\n\r\n", b"\n\n", b"\r\n\n"])
def test_a_whole_header_is_handed_over_unread_and_still_counts(world: World, end: bytes) -> None:
    assert world.said(b"GET / HTTP/1.1") == 0
    assert world.said(end[:-1]) == 0
    assert world.said(end[-1:]) == 1
    assert world.handed[0].socket.recv(99) == b"GET / HTTP/1.1" + end
    assert len(world.connections) == 1


@pytest.mark.parametrize("said", [b"\x16\x03\x01", b" GET", b"x" * HEADER_BYTES])
def test_what_can_be_no_header_is_handed_over_to_be_refused(world: World, said: bytes) -> None:
    assert world.said(said) == 1


@pytest.mark.parametrize("said", [b"", b"POST /mcp HTTP/1.1\r\nHost: local"])
def test_a_caller_that_hangs_up_inside_a_header_is_let_go(world: World, said: bytes) -> None:
    assert world.said(said) == 0
    world.caller.close()
    world.pending.look()
    assert len(world.connections) == 0
    assert not world.handed


def test_a_caller_that_only_stops_sending_is_served(world: World) -> None:
    world.caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
    world.caller.shutdown(socket.SHUT_WR)
    world.pending.look()
    assert len(world.handed) == 1


def test_those_that_are_late_are_closed(world: World) -> None:
    world.pending.end_before(1.0)
    assert len(world.connections) == 1
    world.pending.end_before(2.0)
    assert world.caller.recv(1) == b""
    assert len(world.connections) == 0


def test_one_dropped_while_it_is_handed_over_is_closed_by_its_receiver(world: World) -> None:
    assert world.said(b"GET / HTTP/1.1\r\n\r\n") == 1
    assert world.connections.end_one()
    assert world.handed[0].dropped
    assert world.handed[0].socket.fileno() != -1
