"""Where programs are: ours as they were installed, and those of the system by their full paths."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def ours(name: str) -> Path:
    """A program of this project: on PATH, else beside the interpreter.

    A Nix build has its programs on PATH alone, a virtual environment that is not active has them
    beside its interpreter. Raises LookupError when it is in neither place.
    """
    beside = Path(sys.executable).with_name(name)
    found = shutil.which(name) or (str(beside) if beside.exists() else None)
    if found is None:
        raise LookupError(f"{name} is neither on PATH nor beside {sys.executable}: install it")
    return Path(found)


def full_path(name: str) -> str:
    """A program of the system, for processes whose environment has no PATH.

    Only /bin/sh and /usr/bin/env are at the same place everywhere. Raises LookupError when there
    is none.
    """
    found = shutil.which(name)
    if found is None:
        raise LookupError(f"the tests need {name} on PATH")
    return found


BASH = full_path("bash")
SETSID = full_path("setsid")
SLEEP = full_path("sleep")
