"""What a session may do, as a lattice: the meet of two permissions is never above either.

Each part has an order of its own, and a permission is below another when each of its parts is.
`claude/invocation.py` has the flags by which claude is held to it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

PermissionMode = Literal["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"]

MODES: tuple[PermissionMode, ...] = (
    "plan",
    "dontAsk",
    "default",
    "acceptEdits",
    "auto",
    "bypassPermissions",
)
"""From the lowest to the highest, by what a session with nobody to ask may change."""

# plan and auto read beyond the session's directories (2.1.332), and the modes between them do
# not: that difference is a part of its own
_BEYOND: frozenset[PermissionMode] = frozenset({"plan", "auto", "bypassPermissions"})

READ_APPROVALS = frozenset({"WebFetch", "WebSearch"})
"""Tools that change nothing here and still have to be approved below bypass."""

UNATTENDED = frozenset(
    {"Agent", "AskUserQuestion", "ListAgents", "SendMessage", "Task", "Workflow"}
)
"""Tools of claude by which a session hands work on, talks to another one, or asks a person."""

_TOOL = re.compile(r"[A-Z][A-Za-z0-9]*", re.ASCII)
_RULE = re.compile(r"(?:[A-Z][A-Za-z0-9]*|mcp__[A-Za-z0-9_*-]+)(?:\([^()\n]*\))?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Permissions:
    """One element of the lattice.

    `tools`: the built-in tools there are, None for claude's own set. `denied`: rules of tools
    that are taken away. `approved`: rules of tools that run without asking. `servers`: MCP
    servers by name, None for every one that the operator opted in. `directories`: where a session
    works beside the one it is in. `beyond`: whether it reads outside of them. The bypass means
    all of approved and directories, so both are None there and nowhere else. Rules are written as
    claude's own: `Bash(git *)`, `mcp__search`.

    Raises ValueError, in one line that names the value, for what claude could not be held to.
    """

    mode: PermissionMode
    tools: frozenset[str] | None = None
    denied: frozenset[str] = frozenset()
    approved: frozenset[str] | None = None
    servers: frozenset[str] | None = None
    directories: frozenset[str] | None = None
    beyond: bool = False

    def __post_init__(self) -> None:
        if {self.approved is None, self.directories is None} != {self.mode == "bypassPermissions"}:
            raise ValueError("mode bypassPermissions means all approved tools and directories")
        if self.beyond and self.mode not in _BEYOND:
            raise ValueError(f"mode {self.mode} reads nothing beyond its directories")
        if not self.beyond and self.mode in ("auto", "bypassPermissions"):
            raise ValueError(f"mode {self.mode} cannot be kept from reading beyond its directories")
        _check(self.tools or (), _TOOL, "the name of a built-in tool")
        _check(self.denied | (self.approved or frozenset()), _RULE, "a rule such as Bash(git *)")
        if self.approved is not None:
            # one spelling for a whole server
            rules = frozenset(rule.removesuffix("__*") for rule in self.approved)
            object.__setattr__(self, "approved", _highest(rules, covers_rule))
        if self.directories is not None:
            object.__setattr__(self, "directories", _highest(self.directories, covers_path))

    @classmethod
    def of(
        cls,
        mode: PermissionMode,
        *,
        tools: Iterable[str] | None = None,
        denied: Iterable[str] = (),
        approved: Iterable[str] = (),
        servers: Iterable[str] | None = None,
        directories: Iterable[str | os.PathLike[str]] = (),
        beyond: bool | None = None,
    ) -> Permissions:
        """From what people write; `beyond` None is as the mode has it. Raises ValueError.

        Links in directories are followed here, once, so that none can be turned later.
        """
        rules = frozenset(approved)
        places = frozenset(os.path.realpath(os.path.expanduser(path)) for path in directories)
        everything = mode == "bypassPermissions"
        if everything and (rules or places):
            raise ValueError(f"mode {mode} approves every tool in every directory; list none")
        return cls(
            mode=mode,
            tools=None if tools is None else frozenset(tools),
            denied=frozenset(denied),
            approved=None if everything else rules,
            servers=None if servers is None else frozenset(servers),
            directories=None if everything else places,
            beyond=mode in _BEYOND if beyond is None else beyond,
        )

    def meet(self, other: Permissions) -> Permissions:
        """The highest permission that is not above either of the two."""
        return Permissions(
            mode=min(self.mode, other.mode, key=MODES.index),
            tools=_intersection(self.tools, other.tools),
            denied=self.denied | other.denied,
            approved=_common(self.approved, other.approved, covers_rule),
            servers=_intersection(self.servers, other.servers),
            directories=_common(self.directories, other.directories, covers_path),
            beyond=self.beyond and other.beyond,
        )

    def __le__(self, other: Permissions) -> bool:
        """Whether this allows nothing that `other` does not."""
        return (
            MODES.index(self.mode) <= MODES.index(other.mode)
            and _within(self.tools, other.tools, str.__eq__)
            and self.denied >= other.denied
            and _within(self.approved, other.approved, covers_rule)
            and _within(self.servers, other.servers, str.__eq__)
            and _within(self.directories, other.directories, covers_path)
            and self.beyond <= other.beyond
        )

    @property
    def confined(self) -> bool:
        """Whether it is below what a person at the keyboard has.

        Such a session reads nobody's settings: a project's could raise its mode, and hooks run
        commands whatever tools there are.
        """
        return (
            self.mode != "bypassPermissions"
            or self.tools is not None
            or not self.denied <= UNATTENDED
        )


def covers_rule(rule: str, other: str) -> bool:
    """Whether the first rule holds for every call that the second holds for.

    A tool covers its patterns and a server its tools; patterns are compared by their letters.
    """
    if rule == other or rule == other.partition("(")[0]:
        return True
    return rule.startswith("mcp__") and other.startswith(f"{rule}__")


def covers_path(directory: str, other: str) -> bool:
    """Whether the first directory holds the second, or is it."""
    return PurePosixPath(other).is_relative_to(directory)


_Covers = Callable[[str, str], bool]


def _highest(parts: frozenset[str], covers: _Covers) -> frozenset[str]:
    """Without what another part covers, so that equal sets are written equally."""
    kept: list[str] = []
    for part in sorted(parts, key=lambda part: (len(part), part)):
        if not any(covers(other, part) for other in kept):
            kept.append(part)
    return frozenset(kept)


def _common(
    one: frozenset[str] | None, other: frozenset[str] | None, covers: _Covers
) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return frozenset(
        part
        for parts, bounds in ((one, other), (other, one))
        for part in parts
        if any(covers(bound, part) for bound in bounds)
    )


def _intersection(
    one: frozenset[str] | None, other: frozenset[str] | None
) -> frozenset[str] | None:
    return _common(one, other, str.__eq__)


def _within(parts: frozenset[str] | None, bounds: frozenset[str] | None, covers: _Covers) -> bool:
    if bounds is None:
        return True
    return parts is not None and all(any(covers(bound, part) for bound in bounds) for part in parts)


def _check(values: Iterable[str], shape: re.Pattern[str], what: str) -> None:
    for value in sorted(values):
        if not shape.fullmatch(value):
            raise ValueError(f"{value[:80]!r} is not {what}")


TOP = Permissions.of("bypassPermissions")
"""Everything."""

CHILD = Permissions.of("bypassPermissions", denied=UNATTENDED)
"""What a delegated child may have at most."""
