"""Plays scenarios: `python3 -m driver [NAME ...]`, from vm-tests/debian."""

from __future__ import annotations

import contextlib
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from .install import UNIT, Install
from .machine import Machine
from .snapshots import Snapshots

PROJECT = Path(__file__).resolve().parents[3]
CACHE = PROJECT / ".cache" / "vm"
SCENARIOS = PROJECT / "vm-tests" / "scenarios"
TIMEOUT_S = 15 * 60
AGENT = re.compile(r"# agent: ([a-z]+)\n")


def say(text: str) -> None:
    """A line for whoever watches."""
    sys.stderr.write(text + "\n")


def cpu_s() -> float:
    """CPU that ended emulators took: on a busy host it says more than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


def play(scenario: Path, snapshots: Snapshots) -> bool:
    """Play one scenario in a machine of its own; whether it passed."""
    source = scenario.read_text()
    agent = AGENT.match(source)
    assert agent, f"{scenario}: the first line must be `# agent: NAME`"
    out_dir = CACHE / "out" / scenario.stem
    machine = Machine(CACHE, out_dir)
    scope: dict[str, object] = {
        "machine": machine,
        "machines": [machine],
        "start_all": machine.start,
        "subtest": subtest,
    }
    prelude = PROJECT / "vm-tests" / "prelude.py"
    try:
        with within(TIMEOUT_S):
            snapshot = snapshots.of_agent(agent[1], out_dir)
    except Exception:
        say(traceback.format_exc())
        return False
    try:
        with within(TIMEOUT_S):
            machine.start(snapshot)
            for part in (prelude, scenario):
                exec(compile(part.read_text(), str(part), "exec"), scope)
    except Exception:
        say(traceback.format_exc())
        with contextlib.suppress(Exception), within(60):
            say(machine.execute(f"journalctl -u {UNIT} -n 60 --no-pager")[1])
            say(machine.execute(f"systemctl status {UNIT} --no-pager | head -n 40")[1])
        return False
    else:
        return True
    finally:
        machine.crash()
        if not machine.clean:
            # the emulator did not close the file itself: make it anew next time
            (CACHE / "image.key").unlink(missing_ok=True)


def main(names: list[str]) -> int:
    """Play the named scenarios, or all; 0 when every one passed."""
    known = {path.stem: path for path in sorted(SCENARIOS.glob("*.py"))}
    if unknown := [name for name in names if name not in known]:
        say(f"no such scenario: {' '.join(unknown)}; there are: {' '.join(known)}")
        return 2
    snapshots = Snapshots(CACHE, Install(PROJECT, CACHE))
    results: list[tuple[bool, str]] = []
    for name in names or known:
        say(f"scenario {name}")
        began, cpu = time.monotonic(), cpu_s()
        passed = play(known[name], snapshots)
        took = f"{time.monotonic() - began:6.1f} s, {cpu_s() - cpu:6.1f} s of CPU"
        results.append((passed, f"{'passed' if passed else 'FAILED'} in {took}  {name}"))
        say(f"scenario {name}: {results[-1][1]}\n")
    for _, line in results:
        say(line)
    good = sum(passed for passed, _ in results)
    say(f"{good} passed, {len(results) - good} failed")
    return 0 if good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
