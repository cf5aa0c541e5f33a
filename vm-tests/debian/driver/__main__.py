"""Plays scenarios: `python3 -m driver [--faults] [NAME ...]`, from vm-tests/debian.

With `--faults` each is played once with each fault that is kept for it, and has to fail. JOBS
machines play at once, each on a copy of the disk with all its snapshots.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .faults import Fault, faults_of
from .install import Install
from .play import say
from .setups import Setup
from .snapshots import Snapshots

PROJECT = Path(__file__).resolve().parents[3]
CACHE = PROJECT / ".cache" / "vm"
FAILED = CACHE / "failed"
SCENARIOS = PROJECT / "vm-tests" / "scenarios"


class Stage:
    """The disks to play on; one scenario at a time has each."""

    def __init__(self, original: Path, jobs: int) -> None:
        self._original = original
        self._free: queue.Queue[Path] = queue.Queue()
        for number in range(jobs):
            self._free.put(self._copy(CACHE / f"stage-{number}.qcow2"))

    def _copy(self, disk: Path) -> Path:
        shutil.copyfile(self._original, disk)
        return disk

    def play(self, scenario: Path, snapshot: str, fault: Fault | None) -> tuple[bool, str]:
        """Whether it went as it should, and the line that says so."""
        disk = self._free.get()
        command = [sys.executable, "-m", "driver.play", str(disk), snapshot, str(scenario)]
        number = "" if fault is None else str(fault.number)
        out_dir = CACHE / "out" / f"{scenario.stem}{number and '-fault-'}{number}"
        ran = subprocess.run([*command, str(out_dir), number], capture_output=True, text=True)
        # in one piece, since others play meanwhile
        say(
            f"scenario {scenario.stem} {number and 'with fault '}{number}\n{ran.stdout}{ran.stderr}"
        )
        self._free.put(disk if ran.returncode == 0 else self._copy(disk))
        return ran.returncode == 0, ran.stderr.rstrip().rsplit("\n", 1)[-1]

    def close(self) -> None:
        """Remove the disks."""
        while not self._free.empty():
            self._free.get().unlink()


def main(arguments: list[str]) -> int:
    """Play the named scenarios, or all; 0 when every one went as it should."""
    with_faults = arguments[:1] == ["--faults"]
    wanted = arguments[1:] if with_faults else arguments
    known = {path.stem: path for path in sorted(SCENARIOS.glob("*.py"))}
    if unknown := [name for name in wanted if name not in known]:
        say(f"no such scenario: {' '.join(unknown)}; there are: {' '.join(known)}")
        return 2
    chosen = [known[name] for name in wanted or known]
    plays: list[tuple[Path, Fault | None]] = [(scenario, None) for scenario in chosen]
    if with_faults:
        plays = [(scenario, fault) for scenario in chosen for fault in faults_of(scenario)]

    FAILED.unlink(missing_ok=True)
    began = time.monotonic()
    snapshots = Snapshots(CACHE, Install(PROJECT, CACHE))
    setups = sorted({Setup.of(scenario) for scenario in chosen}, key=lambda setup: setup.name)
    ready = {setup: snapshots.of(setup, CACHE / "out" / setup.name) for setup in setups}
    names = ", ".join(setup.name for setup in setups)
    say(f"the machines of {names} are ready after {time.monotonic() - began:.0f} s\n")

    jobs = min(len(plays), int(os.environ.get("JOBS") or 1))
    stage = Stage(snapshots.disk, jobs)
    try:
        with ThreadPoolExecutor(jobs) as pool:
            ended = pool.map(
                lambda each: stage.play(each[0], ready[Setup.of(each[0])], each[1]), plays
            )
            results = list(ended)
    finally:
        stage.close()
    for _, line in results:
        say(line)
    failed = [
        scenario.stem
        for (scenario, _), (passed, _) in zip(plays, results, strict=True)
        if not passed
    ]
    # for whoever wants to try them again
    FAILED.write_text("".join(f"{name}\n" for name in dict.fromkeys(failed)))
    say(f"all scenarios: {time.monotonic() - began:.0f} s with JOBS={jobs}")
    well, ill = ("noticed", "not noticed") if with_faults else ("passed", "failed")
    say(f"{len(results) - len(failed)} {well}, {len(failed)} {ill}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
