"""What systemd is told: ready, alive, stopping (the protocol of sd_notify(3))."""

from __future__ import annotations

import logging
import os
import socket
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


async def pet_watchdog(alive: Callable[[], bool]) -> None:
    """Pet systemd's watchdog for as long as `alive` says so; returns where there is none."""
    period = watchdog_period()
    while period is not None:
        if alive():
            notify("WATCHDOG=1")
        await anyio.sleep(period / 3)
