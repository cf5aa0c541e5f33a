"""The command line of `make chaos`: 0 when nothing was wrong, 1 otherwise.

python -m chaos --runs 2000 --crashes 50 --seed 7
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import anyio

from chaos.counts import counts
from chaos.crashes import crashes
from chaos.hands import hands, words_of
from chaos.ledger import Findings
from chaos.machine import machine
from chaos.storm import storm


def main() -> int:
    """Read the arguments, run all parts, print the counts."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="calls of the storm")
    parser.add_argument("--crashes", type=int, default=50, help="SIGKILLs of the daemon")
    parser.add_argument("--machine", type=int, default=1000, help="calls among faults of it")
    parser.add_argument("--interventions", type=int, default=1000, help="words of owners")
    parser.add_argument("--seed", type=int, help="of scripts and moments; timing stays random")
    arguments = parser.parse_args()
    # its file systems are unmounted and its daemons ended then, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = secrets.randbelow(1 << 32) if arguments.seed is None else arguments.seed
    wrong = 0
    place = Path(tempfile.mkdtemp(prefix="hive-chaos-"))
    print(f"seed {seed}, everything is kept in {place} if it goes wrong", flush=True)
    for name, part, count in (
        ("storm", storm, arguments.runs),
        ("crashes", crashes, arguments.crashes),
        ("machine", machine, arguments.machine),
    ):
        if not count:
            continue
        root = place / name
        root.mkdir()
        began = time.monotonic()
        findings = anyio.run(partial(part, root, total=count, seed=seed))
        wrong += _report(name, findings, seed, time.monotonic() - began)
    if arguments.interventions:
        wrong += _say(place / "hands", arguments.interventions, seed)
    if wrong:
        return 1
    shutil.rmtree(place)
    return 0


def _report(name: str, findings: Findings, seed: int, seconds: float) -> int:
    told = ", ".join(f"{kind} {count}" for kind, count in counts(findings).most_common())
    owed = sum(call.answer == "well" for call in findings.calls)
    print(f"{name}: {len(findings.calls)} calls in {seconds:.0f} s, {owed} answered well")
    print(f"  endings: {told}")
    print(f"  notices {len(findings.notices)}, violations {len(findings.violations)}", flush=True)
    for violation in findings.violations:
        print(f"VIOLATION (seed {seed}): {violation}")
    return len(findings.violations)


def _say(root: Path, total: int, seed: int) -> int:
    root.mkdir()
    report = anyio.run(lambda: hands(root, total=total, seed=seed))
    print(words_of(report), flush=True)
    for violation in report.wrong:
        print(f"VIOLATION (seed {seed}): {violation}")
    return len(report.wrong)


if __name__ == "__main__":
    sys.exit(main())
