"""Roles: the brief of a child, and what it may do at most. Data, not code.

A role is a file `NAME.md`: front matter of `key: value` lines between two lines `---`, and below
it the brief. Lists are parted by commas; `*` stands for all, an empty value for none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from hive_subagent.errors import ConfigurationError
from hive_subagent.permissions import READ_APPROVALS, PermissionMode, Permissions
from hive_subagent.system.operator_input import read_given

SHIPPED = Path(__file__).parent / "roles"

SIZE_LIMIT = 256 * 1024
"""Bytes of a role's file."""

EFFORTS = ("low", "medium", "high", "xhigh", "max")

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.ASCII)
_FENCE = "---"


@dataclass(frozen=True, kw_only=True)
class Role:
    """What a child of this role is. `model` and `effort` are claude's, None its own choice."""

    name: str
    description: str
    brief: str
    permissions: Permissions
    model: str | None = None
    effort: str | None = None

    @property
    def only_reads(self) -> bool:
        """Whether a child of this role changes nothing, by whatever way."""
        return self.permissions.mode == "plan"


def read_roles(directory: Path | None) -> dict[str, Role]:
    """The shipped roles, with those of `directory` added or in their place, by name.

    Raises ConfigurationError in one line that names the file, the line and what is wrong.
    """
    found = {role.name: role for role in _read(SHIPPED)}
    if directory is not None:
        found |= {role.name: role for role in _read(directory)}
    return dict(sorted(found.items()))


def parse_role(name: str, text: str) -> Role:
    """The role that a file's text means. Raises ValueError in one line."""
    if not _NAME.fullmatch(name):
        raise ValueError("its name is not 1 to 32 of a-z, 0-9 and -: rename the file")
    lines = text.removeprefix("\ufeff").split("\n")
    values, end = _front_matter(lines)
    brief = "\n".join(lines[end:]).strip()
    if not brief:
        raise ValueError("there is no brief below the front matter: say what the child is to do")
    for key in ("description", "permission_mode", "tools"):
        if key not in values:
            raise ValueError(f"`{key}` is missing: add a line `{key}: ...` to the front matter")
    if not values["description"]:
        raise ValueError("`description` is empty: say what a child of this role does")
    for key, value in values.items():
        # they reach argv, logs and texts that a parent reads
        if not value.isprintable():
            raise ValueError(f"`{key}` holds a control character: write plain text")
    effort = values.get("effort") or None
    if effort is not None and effort not in EFFORTS:
        raise ValueError(f"effort {effort!r} is none of {', '.join(EFFORTS)}")
    return Role(
        name=name,
        description=values["description"],
        brief=brief + "\n",
        permissions=_permissions(values),
        model=values.get("model") or None,
        effort=effort,
    )


def _read(directory: Path) -> Iterator[Role]:
    try:
        files = sorted(directory.glob("*.md"))
        if not directory.is_dir():
            raise NotADirectoryError(20, "not a directory")
    except OSError as error:
        raise ConfigurationError(
            f"roles_dir {directory}: {error.strerror}; name a readable directory",
            name="roles_dir",
            path=directory,
        ) from None
    for file in files:
        try:
            yield parse_role(file.stem, read_given(file, limit=SIZE_LIMIT).decode())
        except OSError as error:
            raise ConfigurationError(f"role {file}: {error.strerror}", path=file) from None
        except UnicodeDecodeError:
            raise ConfigurationError(
                f"role {file}: not UTF-8: write it as text", path=file
            ) from None
        except ValueError as error:
            raise ConfigurationError(f"role {file}: {error}", path=file) from None


def _front_matter(lines: list[str]) -> tuple[dict[str, str], int]:
    """The values by key, and the number of lines that hold them."""
    if lines[0].rstrip() != _FENCE:
        raise ValueError(f"line 1 is not {_FENCE}: begin with the front matter")
    values: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == _FENCE:
            return values, number
        if not line.strip():
            continue
        key, colon, value = line.partition(":")
        key = key.strip()
        if not colon:
            raise ValueError(f"line {number} is not `key: value`")
        if key not in _KEYS:
            raise ValueError(f"line {number}: `{key[:40]}` is none of {', '.join(_KEYS)}")
        if key in values:
            raise ValueError(f"line {number}: `{key}` is there twice")
        values[key] = value.strip()
    raise ValueError(f"the front matter has no end: close it with a line {_FENCE}")


_KEYS = (
    "description",
    "permission_mode",
    "tools",
    "disallowed_tools",
    "allowed_tools",
    "mcp_servers",
    "add_dirs",
    "model",
    "effort",
)


def _permissions(values: Mapping[str, str]) -> Permissions:
    mode = _mode(values["permission_mode"])
    approved = _some(values, "allowed_tools")
    servers = _some_or_all(values, "mcp_servers")
    if mode == "plan" and (not approved <= READ_APPROVALS or servers != frozenset()):
        # 2.1.197 lets a session in plan mode write through what is approved
        raise ValueError(
            "a role in plan mode only reads: it can have no mcp_servers, and allowed_tools none"
            f" but {', '.join(sorted(READ_APPROVALS))}"
        )
    return Permissions.of(
        mode,
        tools=_some_or_all(values, "tools"),
        denied=_some(values, "disallowed_tools"),
        approved=approved,
        servers=servers,
        directories=_directories(_some(values, "add_dirs")),
    )


def _mode(value: str) -> PermissionMode:
    mode: PermissionMode
    for mode in get_args(PermissionMode):
        if mode == value:
            return mode
    raise ValueError(f"permission_mode {value!r} is none of {', '.join(get_args(PermissionMode))}")


def _directories(values: frozenset[str]) -> frozenset[str]:
    for value in values:
        if not value.startswith(("/", "~/")):
            raise ValueError(f"add_dirs: {value!r} is not an absolute path")
    return values


def _some(values: Mapping[str, str], key: str) -> frozenset[str]:
    found = _some_or_all(values, key)
    if found is None:
        raise ValueError(f"{key}: `*` means nothing here: list them")
    return found


def _some_or_all(values: Mapping[str, str], key: str) -> frozenset[str] | None:
    listed = frozenset(part for part in map(str.strip, _split(values.get(key, ""))) if part)
    if "*" not in listed:
        return listed
    if len(listed) > 1:
        raise ValueError(f"{key}: `*` beside other values: leave one of them out")
    return None


# a comma inside of parentheses belongs to a rule
_split: Callable[[str], list[str]] = re.compile(r",(?![^(]*\))").split
