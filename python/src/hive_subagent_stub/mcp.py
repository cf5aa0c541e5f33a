"""MCP servers named by --mcp-config: really connected, really called, over streamable HTTP."""

from __future__ import annotations

import os
import time

from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.http import Reply, TimedOut, Unreachable, post
from hive_subagent_stub.ids import uuid4
from hive_subagent_stub.tools import Outcome

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.tools import Call

_PROTOCOL = "2025-11-25"
_SILENCE_S = 300.0  # measured: a call without answer or progress is given up then
_HEARTBEAT_S = 30.0


class Server:
    """One entry of `mcpServers`."""

    def __init__(self, name: str, entry: Json) -> None:
        self.name = name
        self.url = str(entry.get("url", ""))
        self.extra = {str(k): str(v) for k, v in (entry.get("headers") or {}).items()}
        self.status = "failed"
        self.tools: list[str] = []
        self.server_name = name
        self._session: str | None = None
        self._ids = 0

    def connect(self, stub: Stub) -> None:
        """Initialize and list the tools; `status` tells how it went."""
        try:
            self._initialize(stub)
            reply = self._send(stub, "tools/list", {}, until=time.monotonic() + 30)
        except (Unreachable, TimedOut):
            return
        listed = ((reply.message or {}).get("result") or {}).get("tools") or []
        self.tools = [str(tool.get("name")) for tool in listed]
        self.status = "connected"

    def _initialize(self, stub: Stub) -> None:
        self._session = None
        params = {
            "protocolVersion": _PROTOCOL,
            "capabilities": {"roots": {"listChanged": True}},
            "clientInfo": {
                "name": "claude-code",
                "title": "Claude Code",
                "version": stub.version.name,
            },
        }
        reply = self._send(stub, "initialize", params, until=time.monotonic() + 30)
        result = (reply.message or {}).get("result")
        if reply.status != 200 or not isinstance(result, dict):
            raise Unreachable(f"HTTP {reply.status}")
        self._session = reply.headers.get("mcp-session-id")
        self.server_name = str((result.get("serverInfo") or {}).get("name") or self.name)
        note: Json = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        post(stub, self.url, note, self._headers(stub), until=time.monotonic() + 30)

    def call(self, stub: Stub, call: Call, tool: str) -> Json:
        """`tools/call`: the whole JSON-RPC answer. Raises Unreachable and TimedOut."""
        limit = float(os.environ.get("MCP_TOOL_TIMEOUT") or 1e8) / 1000
        watch = _Watch(stub, call, limit)
        params: Json = {
            "name": tool,
            "arguments": call.given,
            "_meta": {"claudecode/toolUseId": call.id, "progressToken": self._ids + 1},
        }
        for again in (False, True):
            reply = self._send(stub, "tools/call", params, until=None, watch=watch)
            if reply.status == 404 and self._session is not None and not again:
                self._initialize(stub)  # the server was restarted: measured, the call is re-sent
                continue
            break
        if reply.message is None:
            raise Unreachable(f"HTTP {reply.status}")
        return reply.message

    def _headers(self, stub: Stub) -> dict[str, str]:
        headers = {"User-Agent": f"claude-code/{stub.version.name} (sdk-cli)", **self.extra}
        if self._session:
            headers["mcp-session-id"] = self._session
        return headers

    def _send(
        self,
        stub: Stub,
        method: str,
        params: Json,
        *,
        until: float | None,
        watch: _Watch | None = None,
    ) -> Reply:
        self._ids += 1
        body: Json = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        headers = self._headers(stub)
        if method != "initialize":
            headers["mcp-protocol-version"] = _PROTOCOL
        if watch is None:
            return post(stub, self.url, body, headers, until=until)
        return post(
            stub,
            self.url,
            body,
            headers,
            until=until,
            on_event=watch.event,
            tick=watch.tick,
        )


class _Watch:
    """The clocks of one call: heartbeats, silence, MCP_TOOL_TIMEOUT."""

    def __init__(self, stub: Stub, call: Call, limit_s: float) -> None:
        self._stub = stub
        self._call = call
        self._limit_s = limit_s
        self._started = self._heard = time.monotonic()
        self._beats = 0

    def event(self, message: Json) -> None:
        """Progress keeps the call from being given up for silence."""
        if message.get("method") == "notifications/progress":
            self._heard = time.monotonic()

    def tick(self) -> float:
        """Print a heartbeat when it is due; raises TimedOut; gives the next time of interest."""
        now = time.monotonic()
        if now - self._started >= self._limit_s:
            raise TimedOut(f"timed out after {self._limit_s:g}s")
        if now - self._heard >= _SILENCE_S:
            raise TimedOut(f"sent no response or progress for {_SILENCE_S:g}s; aborting")
        beat = self._started + _HEARTBEAT_S * (self._beats + 1)
        if now >= beat and not self._stub.version.old:
            self._beat()
            beat += _HEARTBEAT_S
        return min(beat, self._started + self._limit_s, self._heard + _SILENCE_S)

    def _beat(self) -> None:
        self._beats += 1
        self._stub.out.emit(
            {
                "type": "tool_progress",
                "tool_use_id": f"{self._call.id}-heartbeat-{self._beats - 1}",
                "tool_name": self._call.name,
                "parent_tool_use_id": self._call.id,
                "elapsed_time_seconds": int(_HEARTBEAT_S * self._beats),
                "heartbeat": True,
                "session_id": self._stub.session.id,
                "uuid": uuid4(),
            }
        )


def connect_all(stub: Stub) -> None:
    """Connect every server of the configuration before init, as `alwaysLoad` makes the CLI do."""
    for name, entry in (stub.mcp_config.get("mcpServers") or {}).items():
        # measured: an entry of the wrong shape is ignored silently
        if isinstance(entry, dict) and entry.get("url"):
            stub.servers[name] = server = Server(name, entry)
            server.connect(stub)


def call_tool(stub: Stub, call: Call) -> Outcome:
    """Call the tool of an MCP step."""
    name, _, tool = str(call.step["mcp"]).partition("/")
    server = stub.servers.get(name)
    if server is None or server.status != "connected":
        text = f"<tool_use_error>Error: No such tool available: {call.name}</tool_use_error>"
        return Outcome(text, f"Error: No such tool available: {call.name}", is_error=True)
    try:
        message = server.call(stub, call, tool)
    except TimedOut as error:
        text = f'MCP server "{name}" tool "{tool}" {error}'
        return Outcome(text, f"Error: {text}", is_error=True)
    except Unreachable as error:
        text = f'MCP server "{name}" is not connected: {error}'
        return Outcome(text, f"Error: {text}", is_error=True)
    if "error" in message:
        told = message["error"]
        text = f"MCP error {told.get('code')}: {told.get('message')}"
        return Outcome(text, f"Error: {text}", is_error=True)
    return _outcome(message.get("result") or {})


def _outcome(result: Json) -> Outcome:
    blocks = result.get("content") or []
    text = "\n".join(str(b.get("text", "")) for b in blocks if b.get("type") == "text")
    if result.get("isError"):
        return Outcome(text, f"Error: {text}", is_error=True)
    if "structuredContent" in result:
        import json

        structured = result["structuredContent"]
        content = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
        detail = {"content": content, "structuredContent": structured}
        return Outcome(content, detail, is_error=None)
    return Outcome(blocks, blocks, is_error=None)
