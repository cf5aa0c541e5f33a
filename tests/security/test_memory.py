"""A request that finds no memory costs itself, and not the daemon (issue 10, 8)."""

from __future__ import annotations

import http.client
import resource
import threading
from pathlib import Path

from support import rpc
from support.daemon import Daemon

ROOM = 48 * 1024 * 1024
CALLERS = 12
# some 8 MiB of small values each: more than there is room for, together
LARGE = "[[1]," * 1_600_000


async def test_without_memory_requests_are_answered_or_cut_and_service_goes_on(
    world: Daemon,
) -> None:
    world.start()
    assert world.process is not None
    _leave_room(world.process.pid)
    answered: list[int] = []

    def call(number: int) -> None:
        try:
            answer = rpc.request(
                f"{world.url}/mcp",
                "POST",
                rpc.body_of("continue", {"name": f"n{number}", "prompt": LARGE}),
                rpc.HEADERS,
            )
            answered.append(answer.status)
        except (OSError, http.client.HTTPException):
            answered.append(0)

    callers = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    # amid that a call may be cut as well, and it may not hang: each of them comes back in time
    call(CALLERS)
    for caller in callers:
        caller.join(60)
    assert not any(caller.is_alive() for caller in callers)
    assert len(answered) == CALLERS + 1
    assert set(answered) - {200}, "none of them ran out of memory: make them larger"
    assert "MemoryError" in world.log
    assert "sessions" in (await world.must("status"))
    world.process.terminate()
    assert world.process.wait(30) == 0


def _leave_room(pid: int) -> None:
    """Let a process have `ROOM` bytes of address space more than it has."""
    status = Path(f"/proc/{pid}/status").read_text()
    limit = int(status.split("VmSize:")[1].split()[0]) * 1024 + ROOM
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
