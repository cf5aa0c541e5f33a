"""A real process at the other end of real pipes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from support.programs import SLEEP

from hive_subagent.claude.invocation import Invocation
from hive_subagent.claude.outcome import Exit
from hive_subagent.claude.pipes import STDERR_KEPT
from hive_subagent.claude.process import RunningClaude, SpawnFailed
from hive_subagent.claude.stream import Batch

BOUND_S = 20.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def direct(argv: Sequence[str]) -> Sequence[str]:
    return argv


@asynccontextmanager
async def child(code: str) -> AsyncIterator[RunningClaude]:
    """A Python program in claude's place."""
    argv = (sys.executable, "-S", "-c", code)
    invocation = Invocation(argv, {"PATH": os.environ["PATH"]}, Path("/"))
    claude = await RunningClaude.spawn(invocation, launcher=direct)
    try:
        with anyio.fail_after(BOUND_S):
            yield claude
    finally:
        claude.signal(signal.SIGKILL)
        with anyio.fail_after(BOUND_S, shield=True):
            await claude.exited()
        await claude.close()


SAY = "import sys, json\ndef say(**e): print(json.dumps(e), flush=True)\n"
DONE = "say(type='result', subtype='success', is_error=False, result='x' * size)\n"


async def test_a_missing_program_is_named() -> None:
    invocation = Invocation(("/nowhere/claude",), {}, Path("/"))
    with pytest.raises(SpawnFailed, match="/nowhere/claude"):
        await RunningClaude.spawn(invocation, launcher=direct)


async def test_a_first_event_is_seen_although_the_process_goes_on() -> None:
    async with child(SAY + "say(type='system', subtype='init')\nsys.stdin.read()") as claude:
        assert await claude.first_event()
        claude.end_input()
        assert await claude.exited() == Exit(0)


async def test_a_process_that_dies_without_an_event_had_none() -> None:
    async with child("import sys; sys.exit('no such luck')") as claude:
        assert not await claude.first_event()
        assert await claude.exited() == Exit(1)
        await claude.drain(BOUND_S)
        assert claude.stderr == "no such luck"


async def test_what_was_written_last_is_read_before_the_exit_is_told() -> None:
    """R4, R7: an exit is always the last word, although the pipe is still full."""
    code = SAY + "size = 50_000\nsys.stdin.readline()\n" + DONE
    async with child(code) as claude:
        message = claude.send("go")
        assert await claude.answered(message) is not None
        assert await claude.exited() == Exit(0)


async def test_a_grandchild_that_holds_the_pipes_delays_nothing() -> None:
    code = SAY + (
        "import subprocess\n"
        f"p = subprocess.Popen(['{SLEEP}', '6061'], start_new_session=True)\n"
        "say(type='assistant', pid=p.pid)\n"
    )
    async with child(code) as claude:
        assert await claude.exited() == Exit(0)
        assert claude.conversation.begun
        assert await claude.answered(claude.send("too late")) is None
        await claude.drain(0.01)
        os.kill(_grandchild(), signal.SIGKILL)


async def test_a_grandchild_that_goes_on_writing_delays_no_exit() -> None:
    """It was read to an end that never came, and nothing else went on meanwhile."""
    code = SAY + (
        "import os, signal\n"
        "def give_up(*_):\n"
        "    os.write(1, b'\\n')\n"
        "    say(type='system', session_id='nobody ended me')\n"
        "    os._exit(0)\n"
        "if os.fork() == 0:\n"
        "    signal.signal(signal.SIGALRM, give_up)\n"
        "    signal.alarm(10)\n"
        "    while True: os.write(1, b'more\\n' * 10_000)\n"
        "sys.stdin.readline()\n"
    )
    async with child(code) as claude:
        claude.send("go")
        assert await claude.exited() == Exit(0)
        assert claude.conversation.session_id is None
        os.killpg(claude.pid, signal.SIGKILL)
        await claude.drain(BOUND_S)


def _grandchild() -> int:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if (entry / "cmdline").read_bytes() == f"{SLEEP}\x006061\x00".encode():
                    return int(entry.name)
            except OSError:
                continue
    raise AssertionError("the grandchild is gone")


async def test_an_answer_of_five_megabytes_comes_whole() -> None:
    async with child(SAY + "size = 5_000_000\nsys.stdin.readline()\n" + DONE) as claude:
        result = await claude.answered(claude.send("go"))
        assert result is not None
        assert len(result["result"]) == 5_000_000


async def test_both_streams_are_always_drained_and_the_end_of_stderr_is_kept() -> None:
    """R5."""
    code = SAY + (
        "for n in range(40):\n"
        "    sys.stderr.write('e' * 100_000)\n"
        "    print('o' * 100_000)\n"
        "sys.stderr.write('the end')\n"
        "say(type='system')\n"
    )
    async with child(code) as claude:
        assert await claude.exited() == Exit(0)
        await claude.drain(BOUND_S)
        assert claude.stderr.endswith("the end")
        assert len(claude.stderr) == STDERR_KEPT


async def test_invalid_bytes_and_plain_text_do_not_stop_the_reading() -> None:
    """R3."""
    code = SAY + (
        "sys.stdout.buffer.write(b'plain\\n\\xff\\xfe\\n{\"half\":\\n')\n"
        "say(type='assistant', text='\\ud800')\n"
        "sys.stdin.readline()\nsize = 1\n" + DONE
    )
    async with child(code) as claude:
        assert await claude.answered(claude.send("go")) is not None
        assert claude.broken is None


async def test_an_output_that_ends_while_the_process_lives_is_over() -> None:
    """R2: nobody waits for an answer that cannot come any more."""
    code = "import os, sys\nos.close(1)\nsys.stdin.read()"
    async with child(code) as claude:
        assert await claude.answered(claude.send("go")) is None
        assert claude.exit is None


async def test_a_reader_that_breaks_says_so_and_wakes_who_waits() -> None:
    """R2."""
    async with child(SAY + "sys.stdin.readline()\nsay(type='system')\nsys.stdin.read()") as claude:

        def broken(batch: Batch) -> None:
            raise MemoryError("no room")

        claude.conversation.take = broken  # type: ignore[method-assign]
        assert await claude.answered(claude.send("go")) is None
        assert claude.broken is not None
        assert "no room" in claude.broken


async def test_a_message_nobody_reads_blocks_nobody() -> None:
    async with child("import time\ntime.sleep(60)") as claude:
        claude.send("x" * 3_000_000)
        claude.end_input()
        claude.signal(signal.SIGTERM)
        assert await claude.exited() == Exit(-signal.SIGTERM)


async def test_a_signal_after_the_exit_reaches_nobody() -> None:
    """R16: the pid stays taken until `close`, and a pidfd is all we signal."""
    async with child("") as claude:
        await claude.exited()
        assert str(claude.pid) in os.listdir("/proc")
        claude.signal(signal.SIGKILL)
        assert claude.exit == Exit(0)


async def test_forty_processes_leave_no_descriptor_behind() -> None:
    async with child("") as claude:
        await claude.exited()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(40):
        async with child("print('x' * 1000)") as claude:
            claude.send("x")
            await claude.exited()
    assert len(os.listdir("/proc/self/fd")) <= before
