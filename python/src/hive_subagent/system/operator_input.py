"""What an operator gives a daemon: variables, paths, files and sizes, each checked in one place.

A blank variable counts as unset, and an unknown one is reported. A path is made absolute. A file is
read whole and at once.
"""

from __future__ import annotations

import difflib
import os
import pwd
import re
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

PREFIX = "HIVE_SUBAGENT_"

# of other programs of this distribution, or inherited by a daemon that runs inside a subagent
_OTHERS = {"RUN", "SOCKET", "TOKEN"}
_STUB = "STUB_"

LIMIT = 4 * 1024 * 1024
"""Bytes of a file that an operator may name; configuration is far smaller."""

_SIZE = re.compile(r"\s*([0-9]{1,19})\s*([KMGT]?)(?:i?B)?\s*", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def is_blank(value: object) -> bool:
    """Whether a value is a text without any visible character."""
    return isinstance(value, str) and not value.strip()


def first_set(environment: Mapping[str, str], *names: str) -> str | None:
    """The value of the first variable that is set and not blank; None when there is none."""
    return next(
        (environment[name] for name in names if not is_blank(environment.get(name, ""))), None
    )


def set_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that are not blank."""
    return {name: value for name, value in environment.items() if not is_blank(value)}


def warnings(environment: Mapping[str, str], keys: Collection[str]) -> list[str]:
    """One line for each variable `HIVE_SUBAGENT_*` that has no effect.

    `keys` are the names of the settings. No line shows a value: it may be a secret.
    """
    known = {key.upper() for key in keys}
    lines = []
    for variable in sorted(environment):
        name = variable.upper()  # the names of settings are found in any case
        if not name.startswith(PREFIX):
            continue
        name = name.removeprefix(PREFIX)
        if name in known:
            if name == "SETTING_SOURCES" and is_blank(environment[variable]):
                lines.append(
                    f"{variable} is blank and counts as unset; to have claude read no settings,"
                    ' write "setting_sources": "" into the file of --config'
                )
        elif name not in _OTHERS and not name.startswith(_STUB):
            near = difflib.get_close_matches(name, known, n=1)
            advice = f"did you mean {PREFIX}{near[0]}?" if near else "remove it or correct its name"
            lines.append(f"{variable} is no setting and has no effect; {advice}")
    return lines


def absolute_path(text: str | os.PathLike[str]) -> Path:
    """The absolute path that `text` means: `~` and `~user` are expanded, links are not followed.

    Raises ValueError, in one line with the fix, where there is no such home, or no working
    directory to count a relative path from.
    """
    path = os.fspath(text)
    if not path.strip():
        raise ValueError("the path is blank; name one")
    if path.startswith("~"):
        path = _expand_home(path)
    try:
        return Path(os.path.abspath(path))
    except OSError as error:
        raise ValueError(
            f"the daemon's working directory cannot be used ({error.strerror}); start it in"
            f" another one, or replace {path!r} by an absolute path"
        ) from None


def _expand_home(path: str) -> str:
    user = path[1:].partition("/")[0]
    # a blank HOME would make "/x" out of "~/x"
    home = first_set(os.environ, "HOME") if not user else None
    if not user and home is None:
        with suppress(KeyError):
            home = pwd.getpwuid(os.getuid()).pw_dir
        if not home:
            raise ValueError(
                f"{path} cannot be found: uid {os.getuid()} has no home directory; set HOME, or"
                " give an absolute path"
            )
    if home is not None:
        return home.rstrip("/") + path[1:] or "/"
    expanded = os.path.expanduser(path)
    if expanded == path:
        raise ValueError(f"{path} cannot be found: there is no user {user!r}; correct the path")
    return expanded


def read_given(file: Path, *, limit: int = LIMIT) -> bytes:
    """The content of a regular file, behind a link or not.

    Never waits for a pipe and never reads a device. Raises OSError, whose `strerror` says why.
    """
    # looked at before it is opened: that alone makes some devices do something
    _check(file, os.stat(file))
    with open(file, "rb", opener=_without_waiting) as stream:
        _check(file, os.fstat(stream.fileno()))
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(None, f"it is larger than {limit} bytes", str(file))
    return content


def _check(file: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(None, "it is a directory", str(file))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is not a regular file", str(file))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def parse_size(text: str | int) -> int:
    """Bytes of `536870912`, `512M`, `512MiB` or `2g`; units count in 1024, as systemd's do.

    Raises ValueError, in one line that names the value, for anything else and for zero.
    """
    match = None if isinstance(text, bool) else _SIZE.fullmatch(str(text))
    size = int(match[1]) * 1024 ** _POWERS[match[2].upper()] if match else 0
    if not 0 < size < 2**63:
        shown = repr(text)[:80]
        raise ValueError(f"{shown} is not a size; write bytes, or a number with K, M, G or T")
    return size
