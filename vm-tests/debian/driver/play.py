"""Plays one scenario: `python3 -m driver.play DISK SNAPSHOT SCENARIO OUT-DIR`; 0 when it passed."""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from .machine import Machine
from .setups import Setup

TIMEOUT_S = 15 * 60


def say(text: str) -> None:
    """A line for whoever watches."""
    sys.stderr.write(text + "\n")


@contextlib.contextmanager
def subtest(name: str) -> Iterator[None]:
    """A part of a scenario, by name."""
    say(f"  {name}")
    yield


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in here when it takes longer."""

    def ring(*_: object) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def play(machine: Machine, snapshot: str, scenario: Path) -> bool:
    """Play a scenario from a snapshot; whether it passed."""
    setup = Setup.of(scenario)
    scope: dict[str, object] = {
        "machine": machine,
        "machines": [machine],
        "start_all": machine.start,
        "subtest": subtest,
        "READY": setup.units,
    }
    try:
        with within(TIMEOUT_S):
            machine.start(snapshot)
            for part in (scenario.parents[1] / "prelude.py", scenario):
                exec(compile(part.read_text(), str(part), "exec"), scope)
    except Exception:
        say(traceback.format_exc())
        with contextlib.suppress(Exception), within(60):
            for unit in setup.units:
                machine.report(unit)
        return False
    else:
        return True
    finally:
        machine.crash()


def main(disk: str, snapshot: str, scenario: str, out_dir: str) -> int:
    """Play, and say how it went and what it took."""
    began = time.monotonic()
    passed = play(Machine(Path(disk), Path(out_dir)), snapshot, Path(scenario))
    took = time.monotonic() - began
    # on a busy host the emulator's CPU says more than the clock
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    verdict = "passed" if passed else "FAILED"
    say(f"{verdict} in {took:6.1f} s, {cpu:6.1f} s of CPU  {Path(scenario).stem}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
