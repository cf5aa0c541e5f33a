"""Put pinned native packages of Claude Code into `.cache/claude/`: `python -m e2e.install`.

Exit status 0: all there; 69: this machine cannot have them, or npm does not answer (one line on
stderr says which); anything else is a failure.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = "@anthropic-ai/claude-code-linux-x64"
CURRENT, OLDER = "2.1.332", "2.1.197"
PINNED = {
    CURRENT: "sha512-f4JWhzwYutJIHScC7/dYOPX6s28tt7ZADhsOi8zwOHq5"
    "fFPEuUeChh2NMfinSg0GrUckYxaeebC4h0DqiKzLcw==",
    OLDER: "sha512-rIlKmrY0QMyHgPRX/MYWNj039vbypICvI9jVe3rs9Xy2"
    "RnNklySjyPxqh62QadznzoftEO23uYQ1tFePcQ//bg==",
}
CACHE = Path(__file__).parents[2] / ".cache" / "claude"
UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h
NPM_TIMEOUT_S = 600


class Unavailable(Exception):
    """The packages cannot be had here; the text says why and what would help."""


def binary(version: str) -> Path:
    """Where the program of a version lies once it is installed."""
    return CACHE / version / "node_modules" / PACKAGE / "claude"


def ensure(version: str) -> Path:
    """The program of a pinned version, installed if need be. Raises Unavailable."""
    program = binary(version)
    if not program.exists():
        _install(version)
    found = _version_of(program)
    if not found.startswith(f"{version} "):
        raise RuntimeError(
            f"{program} says it is {found!r}; remove {CACHE / version} and try again"
        )
    return program


def _install(version: str) -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise Unavailable(f"{PACKAGE} is for Linux on x86_64, this is {platform.platform()}")
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("there is no npm; install it (Debian: apt-get install npm)")
    CACHE.mkdir(parents=True, exist_ok=True)
    # beside its place and renamed, so that a torn download is never taken for the real thing
    with tempfile.TemporaryDirectory(dir=CACHE) as staging:
        command = [npm, "install", "--prefix", staging, "--ignore-scripts", "--no-audit"]
        command += ["--no-fund", "--fetch-retries=1", f"{PACKAGE}@{version}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=NPM_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"npm did not answer within {NPM_TIMEOUT_S} s") from None
        if done.returncode != 0:
            last = [line for line in done.stderr.splitlines() if line.strip()][:3]
            raise Unavailable(f"npm could not fetch {PACKAGE}@{version}: {' / '.join(last)}")
        _check(Path(staging), version)
        shutil.rmtree(CACHE / version, ignore_errors=True)
        os.rename(staging, CACHE / version)
        Path(staging).mkdir()  # what the context manager removes


def _check(staging: Path, version: str) -> None:
    lock = json.loads((staging / "node_modules" / ".package-lock.json").read_bytes())
    got = lock["packages"][f"node_modules/{PACKAGE}"]["integrity"]
    if got != PINNED[version]:
        raise RuntimeError(f"{PACKAGE}@{version} has integrity {got}, pinned is {PINNED[version]}")


def _version_of(program: Path) -> str:
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.defpath, "HOME": home, "CLAUDE_CONFIG_DIR": home}
        return subprocess.run(
            [program, "--version"], env=environment, capture_output=True, text=True, timeout=60
        ).stdout


def main() -> int:
    try:
        for version in PINNED:
            print(ensure(version))
    except Unavailable as error:
        print(f"Claude Code is not to be had here: {error}", file=sys.stderr)
        return UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
