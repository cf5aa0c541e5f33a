"""Talks to a running daemon over its operator socket: HTTP and JSON, with the standard library."""

from __future__ import annotations

import errno
import http.client
import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

SOCKET_NAME = "operator.sock"
SOCKET_VARIABLE = "HIVE_SUBAGENT_SOCKET"
API = "/api/v1"

CALL_S = 60.0
"""Seconds for a call that waits for nothing but the daemon."""

LONGEST = 107
"""Bytes of the longest path that fits into the address of a Unix socket."""


class CallFailed(Exception):
    """A call that did not succeed; the text is one line for the user."""


class Unreachable(CallFailed):
    """No daemon answers."""


class Refused(CallFailed):
    """The daemon refused the call. `kind` is the API's word for why."""

    def __init__(self, text: str, *, kind: str = "") -> None:
        super().__init__(text)
        self.kind = kind


def candidates(environment: Mapping[str, str]) -> list[Path]:
    """Where a daemon's operator socket may be, in the order in which they are tried."""
    if named := environment.get(SOCKET_VARIABLE, "").strip():
        return [Path(named)]
    folders = [
        Path(folder) for folder in environment.get("RUNTIME_DIRECTORY", "").split(":") if folder
    ]
    if runtime := environment.get("XDG_RUNTIME_DIR", "").strip():
        folders.append(Path(runtime) / "hive-subagent")
    folders.append(Path("/run/hive-subagent"))
    return [folder / SOCKET_NAME for folder in folders]


def find_socket(named: Path | None, environment: Mapping[str, str]) -> Path:
    """The operator socket of the daemon to talk to. Raises Unreachable where there is none."""
    places = [named] if named is not None else candidates(environment)
    for place in places:
        try:
            if place.is_socket():
                return place
        except PermissionError:
            raise Unreachable(
                f"{place} belongs to another user: run this as the user of the daemon"
            ) from None
    raise Unreachable(
        f"no daemon: there is no socket at {' or '.join(map(str, places))}; start"
        f" hive-subagent-daemon, or name its socket with --socket or {SOCKET_VARIABLE}"
    )


class _UnixConnection(http.client.HTTPConnection):
    """An HTTP connection over a Unix socket."""

    def __init__(self, path: Path, timeout_s: float | None) -> None:
        super().__init__("localhost")
        self.timeout = timeout_s
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        address = os.fspath(self._path)
        if len(os.fsencode(address)) <= LONGEST:
            self.sock.connect(address)
            return
        folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{self._path.name}")
        finally:
            os.close(folder)


class Client:
    """Calls of the operator API. Each raises CallFailed where it does not succeed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, route: str, **query: Any) -> dict[str, Any]:
        """GET a route below the API's prefix."""
        given = {name: _text(value) for name, value in query.items() if value is not None}
        target = f"{API}{route}" + (f"?{urlencode(given)}" if given else "")
        return self._json("GET", target, None, CALL_S)

    def post(
        self, route: str, body: Mapping[str, Any], *, within_s: float = CALL_S
    ) -> dict[str, Any]:
        """POST a JSON object; parameters that are None are left out."""
        given = {name: value for name, value in body.items() if value is not None}
        return self._json("POST", f"{API}{route}", given, within_s)

    def _json(
        self, method: str, target: str, body: Mapping[str, Any] | None, timeout_s: float
    ) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data is not None else {}
        with self.request(method, target, data, headers, timeout_s=timeout_s) as response:
            content = response.read()
        return _answer(content, response.status)

    @contextmanager
    def request(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout_s: float | None,
    ) -> Iterator[http.client.HTTPResponse]:
        """One request; its response is open within the block. Raises Unreachable."""
        connection = _UnixConnection(self.path, timeout_s)
        try:
            try:
                connection.request(method, target, body, dict(headers or {}))
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(error) from None
            try:
                yield response
            except (OSError, http.client.HTTPException) as error:
                raise Unreachable(
                    f"the daemon at {self.path} broke off: {str(error) or 'no answer'}"
                ) from None
        finally:
            connection.close()

    def _unreachable(self, error: Exception) -> Unreachable:
        number = getattr(error, "errno", None)
        if number in (errno.ECONNREFUSED, errno.ENOENT):
            return Unreachable(f"no daemon answers at {self.path}: it has ended; start it again")
        if number in (errno.EACCES, errno.EPERM):
            return Unreachable(f"{self.path} belongs to another user: run this as that user")
        if isinstance(error, TimeoutError):
            return Unreachable(f"the daemon at {self.path} does not answer in time")
        return Unreachable(f"the daemon at {self.path} cannot be asked: {error}")


def in_path(name: str) -> str:
    """A name as a part of a route."""
    return quote(name, safe="")


def _answer(content: bytes, status: int) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise Refused(f"the daemon answered {status} with something that is no JSON object")
    if status < 400:
        return answer
    error = answer.get("error")
    details = error if isinstance(error, dict) else {}
    message = str(details.get("message") or f"the daemon answered {status}")
    raise Refused(message, kind=str(details.get("kind") or ""))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
