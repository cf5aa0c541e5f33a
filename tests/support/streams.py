"""The stream on which a client hears of changed tools."""

from __future__ import annotations

import http.client
import json

from support import rpc

MODERN = {
    **rpc.HEADERS,
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "subscriptions/listen",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2.1.332"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LISTEN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "subscriptions/listen",
    "params": {"notifications": {"toolsListChanged": True}, "_meta": META},
}


def listen(connection: http.client.HTTPConnection, path: str = "/mcp") -> http.client.HTTPResponse:
    """Open the stream that Claude Code 2.1.332 holds open."""
    connection.request("POST", path, json.dumps(LISTEN), MODERN)
    response = connection.getresponse()
    assert (response.status, response.readline()) == (200, b"event: message\r\n")
    return response
