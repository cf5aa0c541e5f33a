"""The steps of a script, by their main key."""

from __future__ import annotations

import json
import os
import sys
import time

from hive_subagent_stub import shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import Exit
from hive_subagent_stub.ids import uuid4
from hive_subagent_stub.output import line

if TYPE_CHECKING:
    from collections.abc import Callable

    from hive_subagent_stub._types import Step
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.turn import Turn

_POLL_S = 0.008
_LATER_POLL_S = 0.02  # after a second: hundreds may be waiting


def perform(stub: Stub, turn: Turn, step: Step) -> None:
    """Do one step; an unknown one ends the process loudly with exit code 64."""
    for key in step:
        if (action := _ACTIONS.get(key)) is not None:
            action(stub, turn, step)
            return
        for module, keys in _ELSEWHERE.items():
            if key in keys:
                # loaded when first needed: most processes never are
                loaded = __import__(f"hive_subagent_stub.{module}", fromlist=["perform"])
                loaded.perform(stub, turn, key, step)
                return
    stub.loop.drain(1.0)
    print(f"stub: unknown step {json.dumps(step)[:200]}", file=sys.stderr, flush=True)
    raise Exit(64)


def names() -> list[str]:
    """The main keys of all steps."""
    return ["end", *_ACTIONS, *(key for keys in _ELSEWHERE.values() for key in keys)]


def say(turn: Turn, text: str) -> None:
    """A text block of the model."""
    turn.say({"type": "text", "text": text})


def _text(_stub: Stub, turn: Turn, step: Step) -> None:
    say(turn, str(step["text"]))


def _big_text(_stub: Stub, turn: Turn, step: Step) -> None:
    say(turn, str(step.get("of", "x")) * int(step["big_text"]))


def _think(_stub: Stub, turn: Turn, step: Step) -> None:
    turn.say({"type": "thinking", "thinking": str(step["think"]), "signature": ""})


def _sleep(stub: Stub, _turn: Turn, step: Step) -> None:
    stub.wait(time.monotonic() + float(step["sleep"]))


def _wait_file(stub: Stub, _turn: Turn, step: Step) -> None:
    wait_for(stub, str(step["wait_file"]))


def wait_for(stub: Stub, path: str) -> None:
    """Wait until a file exists."""
    begun = time.monotonic()
    while not os.path.exists(path):
        now = time.monotonic()
        stub.wait(now + (_POLL_S if now - begun < 1 else _LATER_POLL_S))


def _touch(_stub: Stub, _turn: Turn, step: Step) -> None:
    with open(step["touch"], "ab"):
        pass


def _hang(stub: Stub, _turn: Turn, _step: Step) -> None:
    stub.wait(None)


def _lines(stub: Stub, turn: Turn, step: Step) -> None:
    count, size = int(step["lines"]), int(step.get("bytes", 400))
    interval = float(step.get("interval", 0))
    block = {"type": "text", "text": ""}
    turn.begin_request()
    message = shapes.assistant(stub, turn, block)
    if len(line(message)) > size:  # a real line is longer: leave out what a reader can do without
        for key in ("stop_reason", "stop_sequence", "usage", "context_management"):
            del message["message"][key]
        message.pop("timestamp", None)
    block["text"] = "x" * max(0, size - len(line(message)))
    turn.ending.text = block["text"]
    # only the uuid changes: a stand-in that feeds a benchmark must cost less than what is measured
    before, after = line(message).split(message["uuid"].encode())
    for _ in range(count):
        stub.out.write(before + uuid4().encode() + after)
        if interval:
            stub.wait(time.monotonic() + interval)
        while stub.out.waiting > 1 << 20:
            stub.step(None)


def _repeat(_stub: Stub, turn: Turn, step: Step) -> None:
    left = int(step["repeat"])
    if left > 0:
        turn.steps = [*step["steps"], {**step, "repeat": left - 1}, *turn.steps]


def _brief(stub: Stub, turn: Turn, _step: Step) -> None:
    say(turn, stub.brief)


def _env(_stub: Stub, turn: Turn, _step: Step) -> None:
    say(turn, json.dumps(dict(os.environ)))


def _argv(_stub: Stub, turn: Turn, _step: Step) -> None:
    say(turn, json.dumps(sys.argv))


def _prompt(_stub: Stub, turn: Turn, _step: Step) -> None:
    say(turn, turn.prompt)


def _seen(_stub: Stub, turn: Turn, _step: Step) -> None:
    say(turn, json.dumps(turn.seen))


def _history(stub: Stub, turn: Turn, _step: Step) -> None:
    say(turn, json.dumps(stub.session.history))


def _no_line_end(_stub: Stub, turn: Turn, _step: Step) -> None:
    turn.ending.line_end = False


def _config(stub: Stub, turn: Turn, _step: Step) -> None:
    say(turn, json.dumps(stub.mcp_config))


_ACTIONS: dict[str, Callable[[Stub, Turn, Step], None]] = {
    "repeat": _repeat,
    "text": _text,
    "big_text": _big_text,
    "think": _think,
    "sleep": _sleep,
    "wait_file": _wait_file,
    "touch": _touch,
    "hang": _hang,
    "lines": _lines,
    "echo_brief": _brief,
    "echo_env": _env,
    "echo_argv": _argv,
    "echo_prompt": _prompt,
    "echo_seen": _seen,
    "echo_history": _history,
    "echo_config": _config,
    "no_line_end": _no_line_end,
}
_ELSEWHERE = {
    "tools": frozenset({"bash", "monitor", "stop_task", "tool", "mcp", "tools"}),
    "subagent": frozenset({"subagent"}),
    "api": frozenset({"api_error", "api_retry", "result"}),
    "faults": frozenset(
        {
            "hang_deaf",
            "die",
            "exit",
            "truncate",
            "raw",
            "raw_b64",
            "stderr",
            "spawn",
            "eat_memory",
            "linger",
            "close_stdout",
            "ignore_interrupt",
        }
    ),
}
