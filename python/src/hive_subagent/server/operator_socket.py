"""The operator socket: a Unix socket that only the daemon's user can open, and what it serves.

Whoever can open it is the owner, so no token is asked for. A browser cannot open it; a request that
comes from a page all the same, over some proxy, is refused by its `Origin`.
"""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hive_subagent.errors import ConfigurationError
from hive_subagent.server.mcp_server import AGENT_HEADER

NAME = "operator.sock"

BACKLOG = 256
"""Connections that wait to be accepted."""

LONGEST = 107
"""Bytes of the longest path that fits into an address; a longer one is bound by way of /proc."""


def bind_operator_socket(runtime_dir: Path) -> socket.socket:
    """A listening socket at `runtime_dir/operator.sock`, mode 0600.

    Call it with `runtime_dir` locked: what lies there then is of a daemon that is gone, and is
    replaced. Raises ConfigurationError.
    """
    path = runtime_dir / NAME
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    folder = None
    try:
        with suppress(FileNotFoundError):
            if not stat.S_ISSOCK(path.lstat().st_mode):
                raise ConfigurationError(
                    f"{path} is not a socket; remove it, or name another runtime_dir", path=path
                )
            path.unlink()
        # a folder of its own descriptor: an address holds 107 bytes, and a path more
        folder = os.open(runtime_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        address = os.fspath(path)
        if len(os.fsencode(address)) > LONGEST:
            address = f"/proc/self/fd/{folder}/{NAME}"
        before = os.umask(0o177)
        try:
            made.bind(address)
        finally:
            os.umask(before)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise ConfigurationError(
            f"{path} cannot be made: {error.strerror}; name another runtime_dir", path=path
        ) from None
    except ConfigurationError:
        made.close()
        raise
    finally:
        if folder is not None:
            os.close(folder)
    return made


class NoPages:
    """Refuses a request that a page in a browser makes: it has an `Origin`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "origin" in Headers(scope=scope):
            await PlainTextResponse("no Origin may call here\n", 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class NamesAgent:
    """Adds the header that names the agent where a caller has none: the socket is of one agent."""

    def __init__(self, app: ASGIApp, agent_name: str) -> None:
        self._app = app
        self._header = (AGENT_HEADER.lower().encode(), agent_name.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and AGENT_HEADER not in Headers(scope=scope):
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)
