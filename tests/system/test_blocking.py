"""Calls that may block for ever fail by themselves, and nobody else notices (issue 10, 7)."""

import subprocess
import sys
import threading

import anyio
import anyio.lowlevel
import pytest

from hive_subagent.errors import Refused
from hive_subagent.system import blocking

# one call hangs for ever; the process must exit all the same
EXITS = """
import threading, anyio
from hive_subagent.system import blocking
from hive_subagent.errors import Refused

async def main():
    try:
        await blocking.in_thread(threading.Event().wait, what="dir /hung", timeout_s=0.01)
    except Refused as error:
        print(error)

anyio.run(main)
"""


async def test_the_result_of_the_function_is_returned() -> None:
    assert await blocking.in_thread(int, "7", what="a number") == 7


async def test_an_error_of_the_function_is_raised() -> None:
    with pytest.raises(FileNotFoundError):
        await blocking.in_thread(open, "/nonexistent/file", what="a file")


async def test_a_call_that_hangs_is_refused_while_others_are_answered() -> None:
    release = threading.Event()
    try:
        async with anyio.create_task_group() as group:

            async def hung() -> None:
                with pytest.raises(Refused, match="dir /slow: no answer within"):
                    await blocking.in_thread(release.wait, what="dir /slow", timeout_s=0.2)

            group.start_soon(hung)
            assert await blocking.in_thread(int, "1", what="dir /fine", timeout_s=30) == 1
    finally:
        release.set()


async def test_what_hangs_is_refused_at_once_until_it_answers() -> None:
    """Trying again and again would use up the threads of everybody."""
    release = threading.Event()
    with pytest.raises(Refused, match="dir /hung: no answer within"):
        await blocking.in_thread(release.wait, what="dir /hung", timeout_s=0.01)
    for _ in range(2 * blocking.MOST_THREADS):
        with pytest.raises(Refused, match="dir /hung: an earlier access to it still has no answer"):
            await blocking.in_thread(int, "1", what="dir /hung", timeout_s=60)
    assert await blocking.in_thread(int, "1", what="dir /fine") == 1
    release.set()
    with anyio.fail_after(30):
        while blocking._unanswered:
            await anyio.lowlevel.checkpoint()
    assert await blocking.in_thread(int, "1", what="dir /hung", timeout_s=60) == 1


async def test_calls_beyond_the_limit_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "MOST_THREADS", 2)
    release = threading.Event()
    began = [threading.Event() for _ in range(2)]

    def hang(index: int) -> None:
        began[index].set()
        release.wait()

    async with anyio.create_task_group() as group:
        for index in range(2):
            group.start_soon(_call, hang, index)
        with anyio.fail_after(30):
            while not all(event.is_set() for event in began):
                await anyio.lowlevel.checkpoint()
        with pytest.raises(Refused, match="a file system may hang"):
            await blocking.in_thread(int, "1", what="dir /x")
        release.set()
    assert await blocking.in_thread(int, "1", what="dir /x") == 1


async def _call(function: object, index: int) -> None:
    assert callable(function)
    await blocking.in_thread(function, index, what=f"dir /hung{index}", timeout_s=60)


def test_a_process_exits_although_a_call_hangs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXITS], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "dir /hung: no answer within 0.01 s" in done.stdout
