"""`make bench`: every ratio, measured side by side; exit code 0 whatever they are."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import anyio

from bench import (
    busy,
    cold,
    delegation,
    hook_start,
    interrupt,
    intervention,
    start,
    storm,
    stream,
    turns,
)

PARTS = {
    "start": start,
    "stream": stream,
    "busy": busy,
    "cold": cold,
    "turns": turns,
    "interrupt": interrupt,
    "intervention": intervention,
    "hook": hook_start,
    "delegation": delegation,
    "storm": storm,
}


def main() -> None:
    """Measure what is asked for, or all of it."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="none: all of them")
    parser.add_argument("--quick", action="store_true", help="few rounds: for CI, not for figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hive-bench-") as place:
        for name in arguments.parts or PARTS:
            began = time.monotonic()
            rows = anyio.run(lambda: PARTS[name].measure(Path(place), quick=arguments.quick))  # noqa: B023
            print(*rows, sep="\n")
            print(f"  [{name} took {time.monotonic() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
