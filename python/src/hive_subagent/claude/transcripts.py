"""Claude's sessions on disk: where one lies, who has it open, how it is put away.

Measured with 2.1.197 and 2.1.332: a session is `projects/<directory>/<uuid>.jsonl` below claude's
configuration directory, and claude itself takes no lock on it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hive_subagent.errors import Refused
from hive_subagent.instance import lock_holder, read_private

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_LONGEST_NAME = 200
_TAIL_BYTES = 4 * 1024 * 1024
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

# a session file is written moments after its process started, on clocks of different grain
_CLOCK_SLACK_S = 2.0


def is_session_id(text: str) -> bool:
    """Whether `text` can be the id of a session: a UUID."""
    return _UUID.fullmatch(text) is not None


def encode_directory(path: str | os.PathLike[str]) -> str:
    """The name of the project folder that claude keeps for sessions started in `path`.

    Every UTF-16 unit of the real path outside [A-Za-z0-9] becomes `-`; a name longer than 200
    units is cut and a hash of the real path added (checked against 2.1.197 and 2.1.332; Unicode is
    not normalised). Different directories can share one name. Raises Refused for an impossible
    path, and for one that is not UTF-8: claude cannot start there.
    """
    try:
        real = os.fsencode(os.path.realpath(path)).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(
            f"directory {os.fspath(path)!r} is not UTF-8, and claude cannot open it; rename it"
        ) from None
    except ValueError:  # a NUL, or a lone surrogate that stands for no byte
        raise Refused(f"directory {os.fspath(path)!r} is not a possible path; correct it") from None
    encoded = real.encode("utf-16-le")
    units = [int.from_bytes(encoded[at : at + 2], "little") for at in range(0, len(encoded), 2)]
    name = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    if len(name) <= _LONGEST_NAME:
        return name
    digest = 0
    for unit in units:
        digest = (digest * 31 + unit) & 0xFFFFFFFF
    if digest >= 0x80000000:  # JavaScript holds it as a signed 32-bit number
        digest = 0x100000000 - digest
    return f"{name[:_LONGEST_NAME]}-{_base36(digest)}"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, last = divmod(number, 36)
        digits = _DIGITS[last] + digits
    return digits or "0"


def transcript_path(config_dir: Path, directory: str | os.PathLike[str], session_id: str) -> Path:
    """Where claude keeps the session `session_id` that was started in `directory`.

    Raises ValueError for an id that is not a UUID, Refused for an impossible directory.
    """
    if not is_session_id(session_id):
        raise ValueError(f"not a session id: {session_id!r}")
    return config_dir / "projects" / encode_directory(directory) / f"{session_id}.jsonl"


def find(config_dir: Path, directory: str | os.PathLike[str], session_id: str) -> Path | None:
    """The transcript of `session_id`: in the folder of `directory`, else in any other.

    A session may lie elsewhere: worktrees of one repository share theirs, and 2.1.332 appends to
    the file where the session began. None when there is none, or the id is not a UUID.
    """
    if not is_session_id(session_id):
        return None
    expected = transcript_path(config_dir, directory, session_id)
    if os.path.isfile(expected):  # Path.is_file raises where a folder may not be entered
        return expected
    with suppress(OSError):
        for folder in sorted((config_dir / "projects").iterdir()):
            candidate = folder / expected.name
            if os.path.isfile(candidate):
                return candidate
    return None


def took_in(path: Path, uuid: str) -> bool:
    """Whether a transcript holds our message or answer of that uuid.

    Only its end is searched: ask for messages that were sent last.
    """
    try:
        with path.open("rb") as transcript:
            transcript.seek(max(0, transcript.seek(0, os.SEEK_END) - _TAIL_BYTES))
            tail = transcript.read()
    except OSError:
        return False
    # that opened a turn, that came within one, that a hook was answered; one that merely waited
    # is noted there too, under another key
    keys = (b"uuid", b"source_uuid", b"toolUseID")
    return bool(uuid) and any(b'"%s":"%s"' % (key, uuid.encode()) in tail for key in keys)


def archive(path: Path) -> Path:
    """Rename a transcript to `.jsonl.archived`, out of claude's sight, and return where it is now.

    An archive that exists stays: the new one becomes `<uuid>.2.jsonl.archived` and so on. Claude's
    own clean-up leaves files of this ending alone. Raises Refused.
    """
    number = 1
    while True:
        middle = "" if number == 1 else f".{number}"
        target = path.with_name(f"{path.stem}{middle}.jsonl.archived")
        try:
            # the empty file reserves the name: a rename alone would replace what is there
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise _not_archived(path, error) from None
        try:
            os.rename(path, target)
        except OSError as error:
            with suppress(OSError):
                os.unlink(target)
            raise _not_archived(path, error) from None
        return target


def _not_archived(path: Path, error: OSError) -> Refused:
    return Refused(
        f"session {path.stem} could not be archived: {error.strerror};"
        f" make {path.parent} writable, or use another name"
    )


class TranscriptLock:
    """An exclusive flock on a transcript; ends with `release`, the `with` block, or the process.

    Two processes that resume one session interleave its transcript, and claude lets them.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock. Raises Refused, naming the holder if the kernel tells it."""
        self.path = path
        session = f"session {path.stem}"
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags)
        except OSError as error:
            raise Refused(
                f"{session}: its transcript {path} cannot be opened: {error.strerror};"
                " give the daemon's user access to it"
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.fstat(self._descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Refused(f"{session}: its transcript {path} is not a regular file; move it")
            if not _is_still(path, found):
                raise Refused(f"{session}: it was archived a moment ago; start it anew")
        except BlockingIOError:
            holder = lock_holder(self._descriptor)
            self.release()
            who = f"process {holder}" if holder else "another process"
            raise Refused(
                f"{session} is in use by {who}; wait until that run ends, or interrupt it"
            ) from None
        except OSError as error:
            self.release()
            raise Refused(
                f"{session}: its transcript cannot be locked: {error.strerror};"
                " keep claude's configuration directory on a file system with locks"
            ) from None
        except Refused:
            self.release()
            raise

    def release(self) -> None:
        """Give the transcript free; again is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def _is_still(path: Path, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), found)
    except FileNotFoundError:
        return False


def live_holder(
    config_dir: Path, session_id: str, *, ignore_pids: Collection[int] = ()
) -> int | None:
    """The pid of a living claude that has `session_id` open, from its `sessions/<pid>.json`.

    Tells of holders that do not lock: a claude started by hand. Files of dead processes stay
    behind after a kill, so the process must be alive and the one that wrote its file.
    """

    def has_it_open(noted: dict[str, Any]) -> bool:
        return str(noted.get("sessionId")).lower() == session_id.lower()

    return _living(config_dir, has_it_open, ignore_pids)


def live_holder_of_title(
    config_dir: Path, title: str, directory: str | os.PathLike[str]
) -> int | None:
    """The pid of a living claude that has a session of that title of `directory` open.

    For a title that claude has yet to be asked about; titles are compared as claude does.
    """
    folder = encode_directory(directory)

    def has_it_open(noted: dict[str, Any]) -> bool:
        name, where = noted.get("name"), noted.get("cwd")
        with suppress(Refused):
            return (
                isinstance(name, str)
                and isinstance(where, str)
                and name.casefold() == title.casefold()
                and encode_directory(where) == folder
            )
        return False

    return _living(config_dir, has_it_open, ())


def _living(
    config_dir: Path, wanted: Callable[[dict[str, Any]], bool], ignore_pids: Collection[int]
) -> int | None:
    for file, noted in _session_files(config_dir):
        pid = noted.get("pid")
        if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0 or pid in ignore_pids:
            continue
        if not wanted(noted):
            continue
        with suppress(OSError):
            if _wrote(pid, noted, file.stat().st_mtime):
                return pid
    return None


def _session_files(config_dir: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    try:
        files = sorted((config_dir / "sessions").glob("*.json"))
    except OSError:
        return
    for file in files:
        with suppress(OSError, ValueError, RecursionError):
            noted = json.loads(read_private(file))
            if isinstance(noted, dict):
                yield file, noted


def _wrote(pid: int, noted: dict[str, Any], written_at: float) -> bool:
    """Whether the process lives and wrote the file, `written_at` being seconds since 1970."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    # after the command, which may hold spaces and parentheses: state first, start time 20th
    fields = status.rpartition(")")[2].split()
    if fields[0] in "ZXx":
        return False
    if isinstance(noted.get("procStart"), str):  # 2.1.197 and 2.1.332 note the start time itself
        return bool(noted["procStart"] == fields[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - age <= written_at + _CLOCK_SLACK_S


def config_dir_problem(
    config_dir: Path, directory: str | os.PathLike[str] | None = None
) -> str | None:
    """Why sessions could not be saved in `config_dir`: one line with the mend, or None.

    Claude runs on without a word when it cannot save a session (measured with 2.1.197), which can
    then never be resumed. Really writes: permission bits say nothing to root or of a full or
    read-only disk. With `directory`, that project's folder is tried as well.
    """
    places = [config_dir, config_dir / "projects"]
    if directory is not None:
        places.append(places[-1] / encode_directory(directory))
    try:
        config_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        return _unsaved(config_dir, error)
    for place in places:
        try:
            if place is not config_dir and not os.path.lexists(place):
                break  # claude makes it, and its parent has just been tried
            with tempfile.NamedTemporaryFile(dir=place, prefix=".hive-subagent-") as probe:
                probe.write(b"\n")
                probe.flush()
        except OSError as error:
            return _unsaved(place, error)
    return None


def _unsaved(place: Path, error: OSError | ValueError) -> str:
    reason = (isinstance(error, OSError) and error.strerror) or str(error)
    return (
        f"claude cannot save sessions in {place}: {reason};"
        " make it writable, or point claude_config_dir elsewhere"
    )
