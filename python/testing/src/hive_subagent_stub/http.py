"""A small HTTP/1.1 client whose waiting serves stdin and signals: `http.client` could not."""

from __future__ import annotations

import json
import os

from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.mcp_watch import TimedOut

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub


class Unreachable(Exception):
    """The server cannot be talked to, or broke off."""


class Reply:
    """Status, lower-case headers and the JSON-RPC answer (None for an empty body)."""

    def __init__(self, status: int, headers: dict[str, str], message: Json | None) -> None:
        self.status = status
        self.headers = headers
        self.message = message


def post(
    stub: Stub,
    url: str,
    body: Json,
    headers: dict[str, str],
    *,
    until: float | None,
    on_event: Callable[[Json], None] = lambda _: None,
    tick: Callable[[], float | None] = lambda: None,
) -> Reply:
    """POST one JSON-RPC message and read its answer, plain JSON or an event stream.

    `until` is a monotonic time. `tick` is called at every wake-up and gives the time of the next
    one it wants. Raises Unreachable, TimedOut, and whatever `stub.wait` raises; the connection is
    closed then, which the server sees.
    """
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    host, port = _host_and_port(place, 443 if scheme == "https" else 80)
    target = f"/{path if slash else ''}"
    if proxy := _proxy_for(host, port):
        if scheme == "https":
            raise Unreachable("the stand-in for claude knows no tunnel through a proxy")
        host, port = _host_and_port(proxy, 80)
        target = f"http://{place}{target}"
    data = json.dumps(body).encode()
    lines = [
        f"POST {target} HTTP/1.1",
        f"Host: {place}",
        "Connection: close",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(data)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    connection = _connect(host, port, secure=scheme == "https")
    try:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        reader = _Reader(stub, connection, until, tick)
        return _read(reader, body.get("id"), on_event)
    except OSError as error:
        raise Unreachable(str(error)) from None
    finally:
        connection.close()


def _host_and_port(place: str, usual: int) -> tuple[str, int]:
    """Of `name`, `name:80`, `[::1]` or `[::1]:80`. Raises Unreachable."""
    host, bracket, port = place.rpartition("]")
    if bracket:
        host = host.removeprefix("[")
    else:
        host, _, port = place.partition(":")
    number = port.removeprefix(":") or str(usual)
    if not (number.isdecimal() and int(number[:6]) < 1 << 16):
        raise Unreachable(f"{place} names no port")
    return host, int(number)


def _proxy_for(host: str, port: int) -> str:
    """`name:80` of the proxy that the environment sets for a host; empty where there is none.

    Measured with 2.1.332 and 2.1.197: each of the four variables counts for http and for loopback,
    and an entry of NO_PROXY may be a host, `host:port`, or an IPv6 address in brackets or not.
    """
    known = os.environ
    names = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")
    proxy = next((known[name] for name in names if known.get(name)), "")
    excluded = f"{known.get('no_proxy', '')},{known.get('NO_PROXY', '')}".lower().replace(",", " ")
    for entry in excluded.split():
        suffix = entry.removeprefix("*")
        if entry in ("*", host, f"[{host}]", f"{host}:{port}", f"[{host}]:{port}"):
            return ""
        if suffix.startswith(".") and (host.endswith(suffix) or host == suffix[1:]):
            return ""
    return proxy.partition("://")[2].rpartition("@")[2].partition("/")[0] if proxy else ""


def _connect(host: str, port: int, *, secure: bool) -> socket.socket:
    import socket

    try:
        connection = socket.create_connection((host, port), timeout=10)
        if secure:
            import ssl

            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=host)
    except OSError as error:
        raise Unreachable(os.strerror(error.errno) if error.errno else str(error)) from None
    except UnicodeError:
        raise Unreachable(f"{host} is no name of a host") from None
    connection.setblocking(False) if not secure else connection.settimeout(30)
    return connection


class _Reader:
    """Bytes of one answer."""

    def __init__(
        self,
        stub: Stub,
        connection: socket.socket,
        until: float | None,
        tick: Callable[[], float | None],
    ) -> None:
        self._stub = stub
        self._connection = connection
        self._until = until
        self._tick = tick
        self.buffer = bytearray()

    def more(self) -> bool:
        """Wait for more bytes; False at the end of the connection."""
        import time

        fd = self._connection.fileno()
        while True:
            wanted = [t for t in (self._until, self._tick()) if t is not None]
            if self._stub.wait(min(wanted, default=None), [fd]):
                break
            if self._until is not None and time.monotonic() >= self._until:
                raise TimedOut
        data = self._connection.recv(65536)
        self.buffer += data
        return bool(data)

    def until_bytes(self, mark: bytes) -> bytes:
        """Everything up to `mark`, which is taken too."""
        while mark not in self.buffer:
            if not self.more():
                raise Unreachable("connection closed")
        at = self.buffer.index(mark)
        taken = bytes(self.buffer[:at])
        del self.buffer[: at + len(mark)]
        return taken

    def exactly(self, size: int) -> bytes:
        """So many bytes."""
        while len(self.buffer) < size:
            if not self.more():
                raise Unreachable("connection closed")
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken


def _read(reader: _Reader, request_id: object, on_event: Callable[[Json], None]) -> Reply:
    status_line, *lines = reader.until_bytes(b"\r\n\r\n").decode("latin-1").split("\r\n")
    status = int(status_line.split()[1])
    headers = {}
    for each in lines:
        name, _, value = each.partition(":")
        headers[name.strip().lower()] = value.strip()
    if "text/event-stream" not in headers.get("content-type", ""):
        body = b"".join(iter(lambda: _piece(reader, headers), b""))
        try:
            message = json.loads(body) if body.strip() else None
        except ValueError:
            message = None
        return Reply(status, headers, message if isinstance(message, dict) else None)
    pending = b""
    while piece := _piece(reader, headers):
        pending = (pending + piece).replace(b"\r\n", b"\n")
        while b"\n\n" in pending:
            event, pending = pending.split(b"\n\n", 1)
            message = _event(event)
            if message is not None and message.get("id") == request_id and "method" not in message:
                return Reply(status, headers, message)
            if message is not None:
                on_event(message)
    raise Unreachable("event stream ended without an answer")


def _event(event: bytes) -> Json | None:
    rows = [row[5:].strip() for row in event.split(b"\n") if row.startswith(b"data:")]
    try:
        value = json.loads(b"\n".join(rows)) if rows else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _piece(reader: _Reader, headers: dict[str, str]) -> bytes:
    """The next piece of the body, empty at its end."""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        size = int(reader.until_bytes(b"\r\n").split(b";")[0] or b"0", 16)
        if size == 0:
            return b""
        data = reader.exactly(size)
        reader.exactly(2)
        return data
    if "content-length" in headers:
        left = int(headers["content-length"])
        headers["content-length"] = "0"
        return reader.exactly(left) if left else b""
    if not reader.buffer and not reader.more():
        return b""
    data = bytes(reader.buffer)
    reader.buffer.clear()
    return data
