"""Steps that must change nothing about how a run ends."""

from __future__ import annotations

import base64
from random import Random
from typing import Any

Step = dict[str, Any]


def noise(random: Random, token: str, *, most: int = 4) -> list[Step]:
    """Up to `most` harmless steps."""
    return [_one(random, token) for _ in range(random.randint(0, most))]


def orphan(random: Random, token: str) -> Step:
    """A process left behind, in one of the ways in which they escape a kill of the group."""
    step: Step = {"spawn": f": ; sleep 3600.{token}; :"}
    for flag in ("setsid", "ignore_term", "hold_stdout"):
        if random.random() < 0.5:
            step[flag] = True
    if random.random() < 0.3:
        step["env"] = "wipe"
    return step


def _one(random: Random, token: str) -> Step:
    torn = base64.b64encode(b'{"type":"assistant","x":"\xff\xfe\xed\xa0\x80\x85"\n').decode()
    steps: list[Step] = [
        {"text": "thinking aloud"},
        {"think": "hm"},
        {"sleep": random.uniform(0, 0.2)},
        {"lines": random.randint(1, 40), "bytes": random.choice([500, 2000, 9000])},
        {"lines": random.randint(1, 10), "interval": 0.01},
        {"bash": "echo out; echo err >&2; exit 3"},
        {"bash": f"sleep {random.uniform(0, 0.1):.3f}; :"},
        {"tool": "Read", "result": "x" * random.choice([0, 10, 20_000])},
        {"raw": "not JSON at all\n"},
        {"raw": '{"type":"result","subtype":"success"\n'},  # half an object ends nothing
        {"raw": '{"type":"assistant","message":{"content":"\\"result\\""}}\n'},
        {"raw_b64": torn},
        {"stderr": "warning: nothing\n", "repeat": random.choice([1, 10_000])},
        {"big_text": random.choice([100_000, 1_000_000])},
        {"api_retry": 2},
        orphan(random, token),
        orphan(random, token),
    ]
    return random.choice(steps)
