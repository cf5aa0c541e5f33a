"""Reports to systemd: ready, alive, stopping (the protocol of sd_notify(3))."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from functools import cache

import anyio

log = logging.getLogger(__name__)


def prepare() -> None:
    """Open the socket that messages go out on; later none of them needs a descriptor."""
    if os.environ.get("NOTIFY_SOCKET"):
        _channel()


def notify(state: str) -> None:
    """Send one message such as `READY=1`; nothing happens outside of systemd."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        # not connected: a service manager that was executed anew has the address, not the socket
        _channel().sendto(state.encode(), address)
    except OSError as error:
        log.warning("NOTIFY_SOCKET does not take %s: %s", state, error.strerror)


@cache
def _channel() -> socket.socket:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    # a listener that does not read must not hold up the loop
    channel.setblocking(False)
    return channel


def watchdog_period() -> float | None:
    """Seconds within which systemd wants a sign of life; None where it wants none."""
    wanted = os.environ.get("WATCHDOG_USEC", "")
    for_us = os.environ.get("WATCHDOG_PID") in (None, str(os.getpid()))
    return int(wanted) / 1e6 if wanted.isdecimal() and for_us else None


HANG_PERIODS = 3
"""Watchdog periods without a turn of the event loop after which it counts as hung."""


async def pet_watchdog(alive: Callable[[], bool]) -> None:
    """Pet systemd's watchdog while the event loop turns and `alive` says so, until cancelled.

    Returns at once where there is no watchdog. A thread does the petting: on a busy machine the
    loop can be late by more than a period without hanging. A loop that makes no turn, or an `alive`
    that says no, for `HANG_PERIODS` is not petted any more, so that systemd replaces the daemon one
    period later; a process that is stopped as a whole is replaced after one period.
    """
    period = watchdog_period()
    if period is None:
        return
    loop_turned = [time.monotonic()]
    ended = threading.Event()

    def pet() -> None:
        while True:
            if time.monotonic() - loop_turned[0] < HANG_PERIODS * period:
                notify("WATCHDOG=1")
            if ended.wait(period / 4):
                return

    thread = threading.Thread(target=pet, name="watchdog", daemon=True)
    thread.start()
    try:
        while True:
            if alive():
                loop_turned[0] = time.monotonic()
            await anyio.sleep(period / 6)
    finally:
        ended.set()
