"""Access checks: small ASGI layers in front of the MCP servers."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hive_subagent.errors import ConfigurationError
from hive_subagent.server.connections import mark_proven
from hive_subagent.server.mcp_server import AGENT_HEADER, misdirected
from hive_subagent.system.operator_input import read_given

log = logging.getLogger(__name__)

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_VARIABLE = re.compile(r"\$\{([^}:]*)(?::-([^}]*))?\}")


class LocalNames:
    """The names by which the daemon may be called: this machine's, and those of the settings."""

    def __init__(self, host: str, port: int, allowed: Sequence[str] = ()) -> None:
        self._names = _LOOPBACK | {host.lower()}
        # behind a wildcard the address that a client used is not known beforehand; a literal
        # address is never the name of a page
        self._any_address = _is_wildcard(host)
        self._port = port
        self._allowed = [_parts(f"//{name}") for name in allowed]

    def is_host(self, value: str) -> bool:
        """Whether a `Host` header names this daemon; its port is not looked at."""
        name = _parts(f"//{value}").name
        return self._is_ours(name) or any(name == allowed.name for allowed in self._allowed)

    def is_address(self, url: str) -> bool:
        """Whether the address of a server that the operator wrote is that of this daemon.

        `${NAME}` and `${NAME:-default}` are expanded as claude does it. An address that cannot be
        read counts as this daemon's.
        """
        expanded = _VARIABLE.sub(lambda found: os.environ.get(found[1], found[2] or ""), url)
        try:
            parts = urlsplit(expanded)
            name, port = parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
        except ValueError:
            return True
        # a proxy listens on a port of its own
        return any(name == allowed.name for allowed in self._allowed) or (
            port == self._port and self._is_ours(name)
        )

    def is_origin(self, value: str) -> bool:
        """Whether an `Origin` header is of a page that this daemon, or a proxy of it, served.

        The daemon itself speaks plain HTTP. Under a name of `allowed_hosts` a proxy may add TLS,
        on the port given with the name, else the scheme's own.
        """
        given = _parts(value)
        if given.scheme == "http" and given.port == self._port and self._is_ours(given.name):
            return True
        return given.scheme in _DEFAULT_PORTS and any(
            given.name == allowed.name
            and given.port in self._ports_of(given.scheme, allowed.explicit_port)
            for allowed in self._allowed
        )

    def _ports_of(self, scheme: str, port: int | None) -> set[int]:
        if port is not None:
            return {port}
        return {_DEFAULT_PORTS[scheme]} | ({self._port} if scheme == "http" else set())

    def _is_ours(self, name: str) -> bool:
        return name in self._names or (self._any_address and _is_address(name))


class LocalOnly:
    """Refuses a foreign `Host` or `Origin`: a page in a browser that rebinds its name to us."""

    def __init__(self, app: ASGIApp, *, local: LocalNames) -> None:
        self._app = app
        self._local = local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(Headers(scope=scope))):
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._local.is_host(hosts[0]):
            return PlainTextResponse("this Host is not served here\n", 421)
        if not all(map(self._local.is_origin, origins)):
            return PlainTextResponse("this Origin may not call\n", 403)
        return None


class OwnerOnly:
    """Wants `Authorization: Bearer <token>`; every other answer is the same 401."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode("latin-1", "replace")
            if not hmac.compare_digest(given, self._expected):
                refusal = PlainTextResponse(
                    "missing or wrong bearer token\n", 401, {"WWW-Authenticate": "Bearer"}
                )
                await refusal(scope, receive, send)
                return
            mark_proven(scope)
        await self._app(scope, receive, send)


class RightAgentOnly:
    """Refuses an acting request that does not name the agent of this daemon in its header.

    Agents in one network namespace can be given the same port, see `misdirected`.
    """

    def __init__(self, app: ASGIApp, agent_name: str) -> None:
        self._app = app
        self._agent_name = agent_name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            given = Headers(scope=scope).getlist(AGENT_HEADER)
            if (said := misdirected(self._agent_name, given)) is not None:
                await PlainTextResponse(f"{said}\n", 421)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class TokenHoldersOnly:
    """Lets a request with a known token in its path through; else the 404 of any other path."""

    def __init__(self, app: ASGIApp, knows: Callable[[str], bool]) -> None:
        self._app = app
        self._knows = knows

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = scope.get("path_params", {}).get("token", "")
        if scope["type"] == "http":
            if not self._knows(token):
                await PlainTextResponse("Not Found", 404)(scope, receive, send)
                return
            mark_proven(scope)
        await self._app(scope, receive, send)


def read_token(file: Path | None, *, host: str) -> str | None:
    """The owner's token; None without a file. An open port or a readable file is logged.

    Raises ConfigurationError.
    """
    if file is None:
        if not _is_loopback(host):
            log.warning(
                "host %s and no auth_token_file: anybody who reaches this port is the owner", host
            )
        return None
    try:
        token = read_given(file).decode().strip()
        if file.stat().st_mode & stat.S_IROTH:
            log.warning("auth_token_file %s can be read by everybody here; chmod 600 it", file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise ConfigurationError(
            f"auth_token_file {file}: {reason}; name a readable file",
            name="auth_token_file",
            path=file,
        ) from None
    if not token or not token.isascii() or not token.isprintable():
        raise ConfigurationError(
            f"auth_token_file {file}: holds no token; write one line into it",
            name="auth_token_file",
            path=file,
        )
    return token


@dataclass(frozen=True)
class _Parts:
    """The parts of an address; a name that is none is blank."""

    scheme: str = ""
    name: str = ""
    explicit_port: int | None = None

    @property
    def port(self) -> int | None:
        return self.explicit_port or _DEFAULT_PORTS.get(self.scheme)


def _parts(address: str) -> _Parts:
    try:
        parts = urlsplit(address)
        name, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return _Parts()
    # no client puts more than a name and a port into either header
    if parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return _Parts()
    return _Parts(parts.scheme, name, port)


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_wildcard(host: str) -> bool:
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified
