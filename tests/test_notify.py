"""What systemd hears: ready, alive, stopping."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from support.daemon import Daemon

from hive_subagent import notify


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(20)
        yield made


def heard(listener: socket.socket) -> str:
    return listener.recv(4096).decode()


def test_a_daemon_tells_when_it_is_ready_that_it_lives_and_when_it_stops(
    world: Daemon, listener: socket.socket
) -> None:
    world.environment["NOTIFY_SOCKET"] = listener.getsockname()
    world.environment["WATCHDOG_USEC"] = "300000"
    world.start()
    first = [heard(listener) for _ in range(4)]
    assert first.count("READY=1") == 1
    assert first.count("WATCHDOG=1") == 3
    assert world.process is not None
    world.process.terminate()
    while (said := heard(listener)) != "STOPPING=1":
        assert said == "WATCHDOG=1"
    assert world.process.wait(20) == 0


def test_an_abstract_address_is_meant_by_an_at_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind("\0hive-subagent-test")
        made.settimeout(20)
        monkeypatch.setenv("NOTIFY_SOCKET", "@hive-subagent-test")
        notify.notify("READY=1")
        assert heard(made) == "READY=1"


@pytest.mark.parametrize("address", [None, "", "/nonexistent/notify", "@nobody-listens-here"])
def test_where_nobody_listens_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    if address is not None:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    notify.notify("READY=1")


def test_a_listener_that_reads_nothing_holds_nothing_up(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", listener.getsockname())
    for _ in range(700):
        notify.notify("WATCHDOG=1")


@pytest.mark.parametrize(
    ("microseconds", "pid", "period"),
    [
        ("2000000", None, 2.0),
        ("2000000", "self", 2.0),
        ("2000000", "1", None),
        ("", None, None),
        ("soon", None, None),
        (None, None, None),
    ],
)
def test_the_period_is_what_systemd_asks_of_this_process(
    monkeypatch: pytest.MonkeyPatch, microseconds: str | None, pid: str | None, period: float | None
) -> None:
    for name, value in (("WATCHDOG_USEC", microseconds), ("WATCHDOG_PID", pid)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, str(os.getpid()) if value == "self" else value)
    assert notify.watchdog_period() == period


async def test_a_process_that_has_stopped_working_is_not_called_alive(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", listener.getsockname())
    monkeypatch.setenv("WATCHDOG_USEC", "3000")
    looks = iter([True, False, False])

    async def petting() -> None:
        await notify.pet_watchdog(lambda: next(looks))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await petting()
    listener.setblocking(False)
    assert heard(listener) == "WATCHDOG=1"
    with pytest.raises(BlockingIOError):
        heard(listener)


async def test_without_a_watchdog_nothing_is_petted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    with anyio.fail_after(20):
        await notify.pet_watchdog(lambda: True)
