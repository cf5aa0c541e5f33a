"""The paths that a call names, looked at in threads: a file system may never answer.

Each function returns what its namesake in `checks` does and raises Refused as that does, and also
when there is no answer in time.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from hive_subagent.claude import transcripts
from hive_subagent.errors import Refused
from hive_subagent.sessions import checks
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.system.blocking import in_thread
from hive_subagent.system.sanitize import excerpt


async def directory(path: str, *, base: Path) -> Path:
    """The absolute directory that `path` means below `base`."""
    look = partial(checks.check_directory, path, base=base)
    return await in_thread(look, what=f"dir {excerpt(path or str(base))}")


async def directory_of(record: SessionRecord, path: str, *, base: Path, config_dir: Path) -> Path:
    """The directory that a session goes on in; `path` below `base`, unless blank, has to mean it.

    Raises Refused also where that directory is gone, or a link that leads elsewhere.
    """
    look = partial(_directory_of, record, path, base, config_dir)
    return await in_thread(look, what=f"dir {excerpt(path or record.dir)}")


def _directory_of(record: SessionRecord, path: str, base: Path, config_dir: Path) -> Path:
    started = f"subagent `{record.name}` was started in {excerpt(record.dir)}"
    fix = (
        "claude keeps a session by that path and cannot move it. Put the directory back there, or"
        " `start` the session anew"
    )
    try:
        os.stat(record.dir)
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(f"{started}, and nothing is there any more: {fix}") from None
    except OSError:
        pass  # what cannot be looked at need not be gone, and is named below
    found = checks.check_directory(record.dir, base=Path("/"))
    if str(found) != record.dir:
        # an older record holds the path as it was given; the transcript says what that meant
        transcript = transcripts.transcript_path(config_dir, found, record.session_id)
        if not os.path.isfile(transcript):
            raise Refused(f"{started}, which now leads to {excerpt(str(found))}: {fix}")
    if path and not os.path.samefile(given := checks.check_directory(path, base=base), found):
        raise Refused(
            f"{started}, not in {excerpt(str(given))}: leave `dir` out, it cannot move a session"
        )
    return found


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
