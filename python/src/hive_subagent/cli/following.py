"""Waiting for runs, and showing what one does meanwhile."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hive_subagent.cli.client import Client, Refused, in_path
from hive_subagent.cli.endings import lives

STEP_S = 1.0
"""Seconds of one wait of a run that is shown."""

MARGIN_S = 30.0
"""Seconds that an answer may come after its time."""

INTERRUPT_S = 600.0
"""Seconds for an interrupt, which takes as long as the daemon gives a run to end by itself."""

DAY_S = 86_400.0
"""Seconds of a wait that the user has set no time for."""

PART = 256 * 1024
"""Bytes of output that are asked for at once."""


def wait_for(
    client: Client, names: Sequence[str] | None, *, until: str, timeout_s: float
) -> dict[str, Any]:
    """The answer of `wait`. Ctrl-C ends the wait and no run."""
    request = {"names": list(names) if names else None, "until": until, "timeout_s": timeout_s}
    return client.post("/wait", request, within_s=timeout_s + MARGIN_S)


def follow(client: Client, name: str, request: Mapping[str, Any], *, shown: bool) -> dict[str, Any]:
    """Start a run and wait for its end, with what it does on stderr; its session object.

    Ctrl-C and SIGTERM interrupt the run, also while it is being started; a second one kills it.
    """
    route, offset = f"/sessions/{in_path(name)}", 0
    with _sigterm_as_ctrl_c():
        try:
            client.post("/sessions", request)
        except KeyboardInterrupt:
            # a caller that hangs up ends no run
            _interrupt(client, name, route)
        while True:
            try:
                session = wait_for(client, [name], until="all", timeout_s=STEP_S)["sessions"][0]
                if shown:
                    offset = _show(client, route, offset)
                if not lives(session):
                    return client.get(route)
            except KeyboardInterrupt:
                _interrupt(client, name, route)


def _interrupt(client: Client, name: str, route: str) -> None:
    print(f"hive-subagent: interrupting {name}", file=sys.stderr)
    try:
        client.post(f"{route}/interrupt", {"force": False}, within_s=INTERRUPT_S)
    except KeyboardInterrupt:
        print(f"hive-subagent: killing {name}", file=sys.stderr)
        client.post(f"{route}/interrupt", {"force": True}, within_s=INTERRUPT_S)
    except Refused as error:  # it is over already
        print(f"hive-subagent: {error}", file=sys.stderr)


def _show(client: Client, route: str, offset: int) -> int:
    while True:
        try:
            part = client.get(f"{route}/output", offset=offset, limit=PART)
        except Refused:  # it has none, which costs the run nothing
            return offset
        print(part["output"], end="", file=sys.stderr, flush=True)
        offset = int(part["next_offset"])
        if offset >= part["size"] or not part["output"]:
            return offset


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """A timer or CI that is stopped sends SIGTERM."""

    def raise_it(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, raise_it)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
