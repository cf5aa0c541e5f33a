"""What systemd hears: ready, alive, stopping."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from support.daemon import Daemon

from hive_subagent.system import systemd


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(20)
        yield made


def heard(listener: socket.socket) -> str:
    return listener.recv(4096).decode()


def test_a_daemon_reports_ready_alive_and_stopping(world: Daemon, listener: socket.socket) -> None:
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
        systemd.notify("READY=1")
        assert heard(made) == "READY=1"


@pytest.mark.parametrize("address", [None, "", "/nonexistent/notify", "@nobody-listens-here"])
def test_without_a_listener_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    if address is not None:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    systemd.notify("READY=1")


def test_a_listener_that_reads_nothing_holds_nothing_up(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", listener.getsockname())
    for _ in range(700):
        systemd.notify("WATCHDOG=1")


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
    assert systemd.watchdog_period() == period


async def test_a_process_that_has_stopped_working_is_not_called_alive(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", listener.getsockname())
    monkeypatch.setenv("WATCHDOG_USEC", "120000")
    works = True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(systemd.pet_watchdog, lambda: works)
        assert await anyio.to_thread.run_sync(heard, listener) == "WATCHDOG=1"
        works = False
        await _silence(listener)
        works = True
        assert await anyio.to_thread.run_sync(heard, listener) == "WATCHDOG=1"
        tasks.cancel_scope.cancel()
    await _silence(listener)


async def test_a_loop_late_by_one_period_is_alive_and_one_that_hangs_is_not(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 10, 17: thirty starts at once got the daemon killed by its own watchdog."""
    monkeypatch.setenv("NOTIFY_SOCKET", listener.getsockname())
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(systemd.pet_watchdog, lambda: True)
        await anyio.to_thread.run_sync(heard, listener)
        # the loop makes no turn from here on: more than a period is no hang ...
        began = time.monotonic()
        while time.monotonic() - began < 0.3:
            assert heard(listener) == "WATCHDOG=1"
        # ... and it is not petted for ever
        listener.settimeout(0.2 * systemd.HANG_PERIODS)
        _until_silent(listener)
        listener.settimeout(20)
        await anyio.lowlevel.checkpoint()
        assert await anyio.to_thread.run_sync(heard, listener) == "WATCHDOG=1"
        tasks.cancel_scope.cancel()


async def _silence(listener: socket.socket) -> None:
    """Read until nothing more comes for the time after which a hang is one."""
    listener.settimeout(1.0)
    with anyio.fail_after(60):
        await anyio.to_thread.run_sync(_until_silent, listener)
    listener.settimeout(20)


def _until_silent(listener: socket.socket) -> None:
    with contextlib.suppress(TimeoutError):
        while True:
            heard(listener)


async def test_without_a_watchdog_nothing_is_petted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    with anyio.fail_after(20):
        await systemd.pet_watchdog(lambda: True)
