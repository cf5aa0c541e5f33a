"""Claude's sessions on disk: where one lies, what it holds, how it is put away.

Measured with 2.1.197 and 2.1.332: a session is `projects/<directory>/<uuid>.jsonl` below claude's
configuration directory.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path

from hive_subagent.errors import Refused

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_ARCHIVED = re.compile(r"[^.]+(?:\.([0-9]+))?\.jsonl\.archived", re.ASCII)
_LONGEST_NAME = 200
_TAIL_BYTES = 4 * 1024 * 1024
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


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
        return folder_of(os.path.realpath(path))
    except ValueError:
        raise _impossible(path) from None


def _impossible(path: str | os.PathLike[str]) -> Refused:
    return Refused(f"directory {os.fspath(path)!r} is not a possible path; correct it")


def folder_of(real: str | os.PathLike[str]) -> str:
    """As `encode_directory`, of a path that is resolved: nothing is looked at.

    What a session keeps is such a path, and its file system may not answer any more.
    """
    try:
        text = os.fsencode(real).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(
            f"directory {os.fspath(real)!r} is not UTF-8, and claude cannot open it; rename it"
        ) from None
    except ValueError:  # a lone surrogate that stands for no byte
        raise _impossible(real) from None
    encoded = text.encode("utf-16-le")
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
    """The transcript of `session_id`: in the folder of `directory` (resolved), else in any other.

    A session may lie elsewhere: worktrees of one repository share theirs, and 2.1.332 appends to
    the file where the session began. None when there is none, or the id is not a UUID.
    """
    if not is_session_id(session_id):
        return None
    expected = config_dir / "projects" / folder_of(directory) / f"{session_id}.jsonl"
    if os.path.isfile(expected):  # Path.is_file raises where a folder may not be entered
        return expected
    with suppress(OSError):
        for folder in sorted((config_dir / "projects").iterdir()):
            candidate = folder / expected.name
            if os.path.isfile(candidate):
                return candidate
    return None


def find_archived(
    config_dir: Path, directory: str | os.PathLike[str], session_id: str
) -> Path | None:
    """What `archive` has put away last of `session_id`, in the folder of `directory` (resolved)."""
    if not is_session_id(session_id):
        return None
    folder = config_dir / "projects" / folder_of(directory)
    with suppress(OSError):
        archived = [
            (int(number[1] or 1), entry)
            for entry in folder.iterdir()
            if (number := _ARCHIVED.fullmatch(entry.name)) and entry.name.startswith(session_id)
        ]
        return max(archived, default=(0, None))[1]
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
            # a link reserves the name as well, and needs neither a descriptor nor a block
            with suppress(OSError):
                os.link(path, target)
                os.unlink(path)
                return target
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


def config_dir_problem(
    config_dir: Path, directory: str | os.PathLike[str] | None = None
) -> str | None:
    """Why sessions could not be saved in `config_dir`: one line with the mend, or None.

    Claude runs on without a word when it cannot save a session (measured with 2.1.197), which can
    then never be resumed. Really writes: permission bits say nothing to root or of a full or
    read-only disk. With `directory` (resolved), that project's folder is tried as well.
    """
    places = [config_dir, config_dir / "projects"]
    if directory is not None:
        places.append(places[-1] / folder_of(directory))
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
