"""The paths that a call names, looked at in threads: a file system may never answer.

Each function returns what its namesake in `checks` does and raises Refused as that does, and also
when there is no answer in time.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hive_subagent.blocking import in_thread
from hive_subagent.runs import checks
from hive_subagent.visible import excerpt


async def directory(path: str, *, base: Path) -> Path:
    """The absolute directory that `path` means below `base`."""
    look = partial(checks.check_directory, path, base=base)
    return await in_thread(look, what=f"dir {excerpt(path or str(base))}")


async def report_file(path: str, *, base: Path) -> str:
    """The absolute path of a report file, there or not."""
    look = partial(checks.check_report_file, path, base=base)
    return await in_thread(look, what=f"report_file {excerpt(path)}")


async def brief(prompt: str | None, prompt_file: str | None, *, base: Path) -> bytes:
    """The bytes of a brief, given as it is or as a file."""
    if prompt_file is None:
        return checks.check_brief(prompt, prompt_file, base=base)
    look = partial(checks.check_brief, prompt, prompt_file, base=base)
    return await in_thread(look, what=f"prompt_file {excerpt(prompt_file)}")
