"""Faults: deaths, torn output, processes left behind, memory; each at its point in the script."""

from __future__ import annotations

import os
import signal
import sys
import time

from hive_subagent_stub import shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import Exit
from hive_subagent_stub.ids import token
from hive_subagent_stub.output import line

if TYPE_CHECKING:
    from hive_subagent_stub._types import Step
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.turn import Turn


def perform(stub: Stub, turn: Turn, key: str, step: Step) -> None:
    """Do the fault named by `key`."""
    if key == "spawn":
        _spawn(stub, step)
    elif key == "truncate":
        _truncate(stub, turn, int(step["truncate"]))
    elif key == "die":
        _die(stub, str(step["die"]))
    elif key == "exit":
        stub.loop.drain(5)
        raise Exit(int(step["exit"]))
    elif key == "hang_deaf":
        _hang_deaf()
    elif key == "raw":
        stub.out.write(str(step["raw"]).encode("utf-8", "surrogatepass"))
    elif key == "raw_b64":
        import base64

        stub.out.write(base64.b64decode(step["raw_b64"]))
    elif key == "stderr":
        data = str(step["stderr"]).encode() * int(step.get("repeat", 1))
        while data:
            data = data[os.write(2, data) :]
    elif key == "eat_memory":
        _eat(stub, int(step["eat_memory"]))
    elif key == "linger":
        stub.linger_s = float("inf") if step["linger"] is True else float(step["linger"])
    elif key == "close_stdout":
        stub.out.close()
    else:
        stub.ignores_interrupt = True


def _die(stub: Stub, name: str) -> None:
    number = getattr(signal, name)
    stub.loop.drain(5)
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(60)


def _hang_deaf() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(3600)


def _truncate(stub: Stub, turn: Turn, size: int) -> None:
    turn.message_id, turn.request_id = token("msg_"), stub.request_id()
    whole = line(shapes.assistant(stub, turn, {"type": "text", "text": "x" * size}))
    stub.out.write(whole[:size])
    stub.loop.drain()
    raise Exit(0)


def _eat(stub: Stub, size: int) -> None:
    # in pieces, so that a limit kills in the middle as it would a real hog
    while size > 0:
        piece = bytearray(min(size, 1 << 22))
        piece[::4096] = b"x" * len(piece[::4096])
        stub.ballast.append(piece)
        size -= len(piece)


def _spawn(stub: Stub, step: Step) -> None:
    """Leave a process behind: our grandchild, its parent already gone."""
    from hive_subagent_stub.shell import environment, program

    shell = program()
    inner = {} if step.get("env") == "wipe" else environment(stub)
    inner["PATH"] = os.environ.get("PATH", "/usr/bin:/bin")
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    try:
        if step.get("setsid"):
            os.setsid()
        running, closed_by_exec = os.pipe()
        second = os.fork()
        if second:
            os.close(closed_by_exec)
            os.read(running, 1)
            if step.get("pid_file"):
                _write_whole(step["pid_file"], f"{second}\n")
            os._exit(0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        ignored = bool(step.get("ignore_term"))
        signal.signal(signal.SIGTERM, signal.SIG_IGN if ignored else signal.SIG_DFL)
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 0)
        if not step.get("hold_stdout"):
            os.dup2(null, 1)
            os.dup2(null, 2)
        os.execve(shell, [shell, "-c", str(step["spawn"])], inner)
    except OSError as error:
        print(f"stub: spawn: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(70)


def _write_whole(path: str, text: str) -> None:
    """By rename, so that a reader who waits for the file sees all of it."""
    with open(f"{path}.new", "w") as file:
        file.write(text)
    os.replace(f"{path}.new", path)
