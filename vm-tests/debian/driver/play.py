"""Plays one scenario: `python3 -m driver.play DISK SNAPSHOT SCENARIO OUT-DIR [FAULT]`.

Exits with 0 when it passed; with the number of a fault: when it failed as it has to.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from .errors import ExpectationFailed, MachineError
from .faults import PATIENCE_S, Fault, faults_of
from .machine import Machine
from .setups import Setup

TIMEOUT_S = 15 * 60


def say(text: str) -> None:
    """A line for whoever watches."""
    sys.stderr.write(text + "\n")


class Parts:
    """The subtests of a scenario; `failed` is the innermost one that an exception has left."""

    def __init__(self) -> None:
        self.failed: str | None = None

    @contextlib.contextmanager
    def subtest(self, name: str) -> Iterator[None]:
        """A part of a scenario, by name."""
        say(f"  {name}")
        try:
            yield
        except BaseException:
            self.failed = self.failed or name
            raise


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


def play(machine: Machine, snapshot: str, scenario: Path, fault: Fault | None = None) -> bool:
    """Play a scenario from a snapshot; whether it went as it should."""
    setup, parts = Setup.of(scenario), Parts()
    scope: dict[str, object] = {
        "machine": machine,
        "machines": [machine],
        "start_all": machine.start,
        "subtest": parts.subtest,
        "READY": setup.units,
    }
    problem: Exception | None = None
    try:
        with within(TIMEOUT_S):
            machine.start(snapshot)
            if fault is not None:
                machine.succeed(fault.script(scenario))
                machine.patience = PATIENCE_S
            try:
                for part in (scenario.parents[1] / "prelude.py", scenario):
                    exec(compile(part.read_text(), str(part), "exec"), scope)
            except (MachineError, TimeoutError):
                raise  # says nothing of what is tested
            except Exception as error:
                if fault is None:
                    raise
                problem = error
        if fault is not None and (wrong := fault.verdict(parts.failed, problem)):
            raise ExpectationFailed(f"fault {fault.number}: {wrong}") from problem
    except Exception:
        say(traceback.format_exc())
        with contextlib.suppress(Exception), within(60):
            for unit in setup.units:
                machine.report(unit)
        return False
    else:
        if problem is not None:
            say(f"  noticed: {str(problem)[:300]}")
        return True
    finally:
        machine.crash()


def main(disk: str, snapshot: str, scenario: str, out_dir: str, number: str = "") -> int:
    """Play, and say how it went and what it took."""
    began = time.monotonic()
    path = Path(scenario)
    fault = faults_of(path)[int(number) - 1] if number else None
    passed = play(Machine(Path(disk), Path(out_dir)), snapshot, path, fault)
    took = time.monotonic() - began
    # on a busy host the emulator's CPU says more than the clock
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    verdict = ("passed" if fault is None else "noticed") if passed else "FAILED"
    name = path.stem if fault is None else f"{path.stem} with fault {fault.number}: {fault.part}"
    say(f"{verdict} in {took:6.1f} s, {cpu:6.1f} s of CPU  {name}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
