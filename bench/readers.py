"""Reads the writer to its end in one of several ways; prints the CPU seconds that took it.

python -m bench.readers raw|daemon|sdk
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from pathlib import Path

from hive_subagent.claude import protocol
from hive_subagent.claude.invocation import Invocation
from hive_subagent.claude.process import RunningClaude

WRITER = str(Path(__file__).with_name("writer.py"))
GO = "00000000-0000-4000-8000-000000000001"


async def raw(order: str) -> int:
    """What anybody would write first: read, split at line ends, keep the rest."""
    process = await asyncio.create_subprocess_exec(
        WRITER, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(protocol.user_message(order, uuid=GO))
    process.stdin.close()
    lines, rest = 0, b""
    while data := await process.stdout.read(1 << 16):
        *whole, rest = (rest + data).split(b"\n")
        lines += len(whole)
    await process.wait()
    return lines


async def daemon(order: str) -> int:
    """The daemon's own way, without the notes for an owner who follows."""
    invocation = Invocation((WRITER,), dict(os.environ), Path("/"))
    claude = await RunningClaude.spawn(invocation, launcher=list)
    message = claude.send(order)
    if await claude.answered(message) is None:
        raise RuntimeError("no answer")
    claude.end_input()
    await claude.exited()
    await claude.close()
    return claude.conversation.lines


async def sdk(order: str) -> int:
    """claude-agent-sdk, one query."""
    from claude_agent_sdk import ClaudeAgentOptions, query

    lines = 0
    async for _ in query(prompt=order, options=ClaudeAgentOptions(cli_path=WRITER)):
        lines += 1
    return lines


def main() -> None:
    """Read once; the imports are paid before the clock starts."""
    reader = {"raw": raw, "daemon": daemon, "sdk": sdk}[sys.argv[1]]
    if sys.argv[1] == "sdk":
        import claude_agent_sdk  # noqa: F401
    before = _cpu_s()
    lines = asyncio.run(reader(sys.argv[2]))
    print(_cpu_s() - before, lines)


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
