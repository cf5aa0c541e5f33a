"""Our programs as nix/package.nix installs them, for the Python and the paths of the machine."""

from __future__ import annotations

import re

STORE = "/nix/store/00000000000000000000000000000000-"
OURS = "/opt/hive-subagent"
# `-s`: nothing of the user's own site-packages, as with Nix
SCRIPT = """\
#!{store}python3/bin/python3 -s
import sys
sys.path[:0] = ["{ours}/code", "{ours}/dependencies"]
from {module} import {function}
sys.exit({function}())
"""
WRAPPER = """\
#!/bin/sh -e
PATH={store}python3/bin:{ours}/bin:{ours}/dependencies/bin${{PATH:+:$PATH}}
export PATH
export PYTHONNOUSERSITE=true
exec {ours}/bin/.{name}-wrapped "$@"
"""


def are_wrapped(package: str) -> bool:
    """Whether nixpkgs' wrapper is put around the programs; `package` is the text of package.nix.

    The text is read, not evaluated, since this backend has to work without Nix.
    """
    return re.search(r"^  dontWrapPythonPrograms = true;$", package, re.MULTILINE) is None


def installed(scripts: dict[str, str], *, wrapped: bool) -> dict[str, str]:
    """Path and text of every executable; `scripts` are those of pyproject.toml."""
    files = {}
    for name, entry in scripts.items():
        module, function = entry.split(":")
        text = SCRIPT.format(store=STORE, ours=OURS, module=module, function=function)
        if wrapped:
            files[f"{OURS}/bin/.{name}-wrapped"] = text
            text = WRAPPER.format(store=STORE, ours=OURS, name=name)
        files[f"{OURS}/bin/{name}"] = text
    return files
