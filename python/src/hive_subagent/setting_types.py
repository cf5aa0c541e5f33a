"""The types of the settings that need a check or a form of their own."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    ValidationError,
)

from hive_subagent.system.operator_input import absolute_path, parse_size


def _path(value: object) -> object:
    # before pydantic makes a path of it: a blank one would become the working directory
    return absolute_path(value) if isinstance(value, str | os.PathLike) else value


AbsolutePath = Annotated[Path, BeforeValidator(_path)]
Size = Annotated[int, BeforeValidator(parse_size)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _depth(depth: int) -> int:
    if depth not in (0, 1):
        raise ValueError("children of children are not served: set 1, or 0 for no delegation")
    return depth


_HOST_NAME = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_-][a-z0-9._-]*)(:[0-9]{1,5})?", re.ASCII)


def _host_name(name: str) -> str:
    # no pattern: one that matches everything is as good as no check
    if not _HOST_NAME.fullmatch(name.lower()):
        raise ValueError(
            f"{name[:200]!r} is no host name; write it as a client does, such as"
            ' "agent.example" or "agent.example:8443"'
        )
    return name.lower()


HostName = Annotated[str, AfterValidator(_host_name)]
# what fits into a header and is shown in a sentence
AgentName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class UrlEntry(BaseModel):
    """An entry of `todo_sinks` for a URL that takes more than its address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    secret_file: AbsolutePath | None = None
    events: StrictBool = False


def _sink(value: object) -> object:
    # said here: of a union pydantic would complain once for each of its members
    if isinstance(value, str | UrlEntry):
        return value
    try:
        return UrlEntry.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ValueError(
            f"{key + ': ' if key else ''}{first['msg'].removeprefix('Value error, ')}; write"
            ' "KIND:PATH", a URL, or {"url": URL, "secret_file": PATH, "events": true or false}'
        ) from None


SinkEntry = Annotated[str | UrlEntry, PlainValidator(_sink)]


Depth = Annotated[int, AfterValidator(_depth)]
