"""Calls of the operator API, over the socket or at an address."""

from __future__ import annotations

import http.client
import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PREFIX = "/api/v1"


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, *, timeout_s: float = 60.0) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The parts of a refusal."""
        assert self.status >= 400, self
        assert set(self.json) == {"error"}, self
        found: dict[str, Any] = self.json["error"]
        return found


@dataclass(frozen=True)
class Client:
    """Calls one daemon; `headers` go with each request."""

    socket: Path
    headers: dict[str, str] = field(default_factory=dict)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        *,
        prefix: str = PREFIX,
    ) -> Reply:
        """One request over a connection of its own; anything but bytes is sent as JSON."""
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = UnixConnection(self.socket)
        try:
            given = {**self.headers, **(headers or {})}
            connection.request(method, prefix + path, sent, given)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """The JSON of a request that has to go well."""
        reply = self.request("GET", path)
        assert reply.status == 200, reply
        return reply.json

    def post(self, path: str, **given: Any) -> Any:
        """As `get`."""
        reply = self.request("POST", path, given)
        assert reply.status == 200, reply
        return reply.json

    def refused(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """Status and error of a request that has to be refused."""
        reply = self.request(method, path, body)
        return reply.status, reply.error


def client(runtime_dir: Path) -> Client:
    """For the daemon of a runtime directory."""
    return Client(runtime_dir / "operator.sock")
