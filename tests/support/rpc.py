"""MCP calls as one bare POST each: a client of the SDK costs fifty times as much a call."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


@dataclass(frozen=True)
class Answer:
    """What a tool answered."""

    text: str
    data: dict[str, Any]
    is_error: bool


@dataclass(frozen=True)
class Reply:
    """What came back over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes


def request(
    url: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    *,
    timeout_s: float = 60.0,
) -> Reply:
    """One request over a connection of its own."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request(method, parts.path, body, headers or {})
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, found, response.read())
    finally:
        connection.close()


def body_of(tool: str, arguments: dict[str, Any]) -> bytes:
    """The message that calls a tool; lone surrogates stay escapes."""
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode("ascii")


def call(
    url: str, tool: str, arguments: dict[str, Any], headers: dict[str, str] | None = None
) -> Answer:
    """Call a tool of the server at `url`; anything but an answer of the tool is an error."""
    reply = request(url, "POST", body_of(tool, arguments), {**HEADERS, **(headers or {})})
    assert reply.status == 200, reply
    message = json.loads(reply.body.rpartition(b"data: ")[2])
    result = message["result"]
    words = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
    return Answer(words, result.get("structuredContent") or {}, bool(result.get("isError")))
