"""One tree of errors. Each message is one line that names the culprit and says how to fix it."""

from __future__ import annotations

import os
from typing import Literal

RefusalKind = Literal["invalid", "not_found", "conflict", "limit", "unavailable", "failed"]
"""Why a call is refused: what it asks for is wrong, unknown, at odds with what goes on, beyond a
limit of the daemon, not possible now, or failed when it was tried."""


class SubagentError(Exception):
    """Base of every error this package raises on purpose; its text is fit for people and models.

    For programs `name` (of a subagent or a setting), `path` and `limit` hold what the text is
    about; each is None where it is about none.
    """

    def __init__(
        self,
        text: str,
        *,
        name: str | None = None,
        path: str | os.PathLike[str] | None = None,
        limit: float | None = None,
    ) -> None:
        super().__init__(text)
        self.name = name
        self.path = None if path is None else os.fspath(path)
        self.limit = limit


class Refused(SubagentError):
    """A call that cannot be carried out as asked; nothing was changed by it."""

    def __init__(
        self,
        text: str,
        *,
        kind: RefusalKind = "invalid",
        name: str | None = None,
        path: str | os.PathLike[str] | None = None,
        limit: float | None = None,
    ) -> None:
        super().__init__(text, name=name, path=path, limit=limit)
        self.kind = kind


class ConfigurationError(SubagentError):
    """The daemon cannot run with this configuration (exit code 2)."""


class PortTaken(SubagentError):
    """The listen address belongs to another process (exit code 3)."""
