"""The sinks that the entries of `todo_sinks` mean."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from hive_subagent.containment.interface import Enclosure
from hive_subagent.errors import ConfigurationError
from hive_subagent.outbox.exec_sink import ExecSink
from hive_subagent.outbox.sinks import DirSink, PlacedSink, UnixSink
from hive_subagent.setting_types import UrlEntry
from hive_subagent.system.operator_input import absolute_path

LONGEST_SOCKET_PATH = 107  # bytes: sun_path of the kernel, less its terminator

_EVENTS = "events=1"


class _MakesSink(Protocol):
    def __call__(self, path: Path, *, events: bool) -> PlacedSink: ...


_KINDS: dict[str, _MakesSink] = {"dir": DirSink, "unix": UnixSink}


def parse_sink(
    entry: str | UrlEntry, *, enclose: Callable[[str], Enclosure] | None = None
) -> PlacedSink:
    """The sink that one entry of `todo_sinks` means, such as `dir:PATH` or `https://…`.

    `~` and relative paths are made absolute, but for `exec:`. `?events=1` behind a path asks for
    events beside the notices. `enclose` opens what holds a program of `exec:PATH` and all that it
    starts. Raises ConfigurationError that names the entry.
    """
    if isinstance(entry, UrlEntry):
        return _url_sink(entry)
    if entry.startswith(("http://", "https://")):
        if entry.endswith(f"?{_EVENTS}"):
            raise ConfigurationError(
                "todo_sinks: a URL is used as it stands; to have events sent to it as well, write"
                ' {"url": "https://…", "events": true}',
                name="todo_sinks",
            )
        return _url_sink(UrlEntry(url=entry))
    return _path_sink(entry, enclose)


def _path_sink(text: str, enclose: Callable[[str], Enclosure] | None) -> PlacedSink:
    def wrong(what: str) -> ConfigurationError:
        return ConfigurationError(f"todo_sinks: {text!r}{what}", name="todo_sinks")

    kind, colon, rest = text.partition(":")
    place, _, options = rest.partition("?")
    kinds = [*_KINDS, "exec"]
    if kind not in kinds or not colon:
        known = ", ".join(f"{known}:PATH" for known in kinds)
        raise wrong(f" is neither {known} nor a URL of http or https")
    if options not in ("", "events=0", _EVENTS):
        raise wrong(f": option {options!r} is unknown; write events=1 or nothing")
    if not place or "\0" in place:
        raise wrong(f" has no usable path; write {kind}:PATH")
    if kind == "exec" and not os.path.isabs(place):
        raise wrong(": the path of a program must be absolute, and takes no arguments")
    try:
        path = absolute_path(place)
    except ValueError as error:
        raise wrong(f": {error}") from None
    events = options == _EVENTS
    if kind == "exec":
        assert enclose is not None
        sink = ExecSink(path, enclose, events=events)
        if problem := sink.unfit():
            raise wrong(f": {problem}")
        return sink
    if kind == "unix" and len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        raise wrong(f": a socket path has at most {LONGEST_SOCKET_PATH} bytes; move the socket")
    return _KINDS[kind](path, events=events)


def _url_sink(entry: UrlEntry) -> PlacedSink:
    # httpx2 takes long to import, and most daemons have no such sink
    from hive_subagent.outbox.http_sink import HttpSink, read_secret

    try:
        sink = HttpSink(entry.url, secret_file=entry.secret_file, events=entry.events)
    except ValueError as error:  # its text holds no part of the URL but the host
        raise ConfigurationError(f"todo_sinks: {error}", name="todo_sinks") from None
    if entry.secret_file is not None:
        try:
            read_secret(entry.secret_file)
        except OSError as error:
            raise ConfigurationError(
                f"todo_sinks: secret_file {entry.secret_file}: {error.strerror}; name a readable"
                " file with one line",
                name="todo_sinks",
                path=entry.secret_file,
            ) from None
    return sink
