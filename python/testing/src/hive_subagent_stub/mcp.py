"""MCP servers named by --mcp-config: really connected and really called."""

from __future__ import annotations

import time

from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.http import Unreachable, post
from hive_subagent_stub.mcp_watch import TimedOut, Watch
from hive_subagent_stub.tools import Outcome

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.mcp_local import Sdk, Stdio
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.tools import Call

_PROTOCOL = "2025-11-25"
_CONNECT_S = 30.0


class SessionLost(Exception):
    """404 to a known session: the server was restarted."""


class Http:
    """Streamable HTTP, with or without a session of the server's."""

    source = "dynamic"

    def __init__(self, entry: Json) -> None:
        self.url = str(entry["url"])
        self.extra = {str(k): str(v) for k, v in (entry.get("headers") or {}).items()}
        self.session: str | None = None

    def exchange(
        self, stub: Stub, body: Json, *, until: float | None, watch: Watch | None
    ) -> Json | None:
        """POST one message. Raises Unreachable, TimedOut and SessionLost."""
        headers = {"User-Agent": f"claude-code/{stub.version.name} (sdk-cli)", **self.extra}
        if body["method"] == "initialize":
            self.session = None
        else:
            headers["mcp-protocol-version"] = _PROTOCOL
        if self.session:
            headers["mcp-session-id"] = self.session
        if watch is None:
            reply = post(stub, self.url, body, headers, until=until)
        else:
            tick, event = watch.tick, watch.event
            reply = post(stub, self.url, body, headers, until=until, on_event=event, tick=tick)
        if reply.status == 404 and self.session:
            raise SessionLost
        if reply.status >= 300:
            raise Unreachable(f"HTTP {reply.status}")
        if body["method"] == "initialize":
            self.session = reply.headers.get("mcp-session-id")
        return reply.message

    def close(self) -> None:
        """Every request closed its own connection."""


class Server:
    """One entry of `mcpServers`, connected or not."""

    def __init__(self, name: str, transport: Http | Stdio | Sdk) -> None:
        self.name = name
        self.transport = transport
        self.status = "failed"
        self.tools: list[str] = []
        self.title = name
        self._ids = 0

    def connect(self, stub: Stub) -> None:
        """Initialize and list the tools; `status` tells how it went."""
        try:
            self._initialize(stub)
            listed = self._ask(stub, "tools/list", {}, until=time.monotonic() + _CONNECT_S)
        except (Unreachable, TimedOut, SessionLost):
            return
        self.tools = [str(tool.get("name")) for tool in _result(listed).get("tools") or []]
        self.status = "connected"

    def call(self, stub: Stub, call: Call, tool: str) -> Json:
        """`tools/call`: the whole JSON-RPC answer. Raises Unreachable and TimedOut."""
        params: Json = {
            "name": tool,
            "arguments": call.given,
            "_meta": {"claudecode/toolUseId": call.id, "progressToken": self._ids + 1},
        }
        watch = Watch(stub, call)
        try:
            return self._ask(stub, "tools/call", params, watch=watch)
        except SessionLost:
            self._initialize(stub)  # measured: the call is sent again, the model sees nothing
            return self._ask(stub, "tools/call", params, watch=watch)

    def _initialize(self, stub: Stub) -> None:
        until = time.monotonic() + _CONNECT_S
        version = stub.version.name
        params = {
            "protocolVersion": _PROTOCOL,
            "capabilities": {"roots": {"listChanged": True}},
            "clientInfo": {"name": "claude-code", "title": "Claude Code", "version": version},
        }
        result = _result(self._ask(stub, "initialize", params, until=until))
        if not result:
            raise Unreachable("initialize was refused")
        self.title = str((result.get("serverInfo") or {}).get("name") or self.name)
        note: Json = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.transport.exchange(stub, note, until=until, watch=None)

    def _ask(
        self,
        stub: Stub,
        method: str,
        params: Json,
        *,
        until: float | None = None,
        watch: Watch | None = None,
    ) -> Json:
        self._ids += 1
        body: Json = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        message = self.transport.exchange(stub, body, until=until, watch=watch)
        if message is None:
            raise Unreachable("no answer")
        return message


def _result(message: Json) -> Json:
    result = message.get("result")
    return result if isinstance(result, dict) else {}


def connect_all(stub: Stub) -> None:
    """Connect every server of the configuration before init, as `alwaysLoad` makes the CLI do."""
    for name, entry in (stub.mcp_config.get("mcpServers") or {}).items():
        transport: Http | Stdio | Sdk
        # measured: an entry of the wrong shape is ignored silently
        if not isinstance(entry, dict):
            continue
        if entry.get("type") == "sdk":
            from hive_subagent_stub.mcp_local import Sdk

            transport = Sdk(str(entry.get("name") or name))
        elif entry.get("url"):
            transport = Http(entry)
        elif entry.get("command"):
            from hive_subagent_stub.mcp_local import Stdio

            transport = Stdio(entry)
        else:
            continue
        stub.servers[name] = server = Server(name, transport)
        server.connect(stub)


def call_tool(stub: Stub, call: Call) -> Outcome:
    """Call the tool of an MCP step."""
    name, _, tool = str(call.step["mcp"]).partition("/")
    server = stub.servers.get(name)
    if server is None or server.status != "connected" or tool not in server.tools:
        text = f"Error: No such tool available: {call.name}"
        return Outcome(f"<tool_use_error>{text}</tool_use_error>", text, is_error=True)
    try:
        message = server.call(stub, call, tool)
    except TimedOut as error:
        return _failed(f'MCP server "{name}" tool "{tool}" {error}')
    except (Unreachable, SessionLost) as error:
        return _failed(f'MCP server "{name}" is not connected: {error}')
    if "error" in message:
        told = message["error"]
        return _failed(f"MCP error {told.get('code')}: {told.get('message')}")
    result = _result(message)
    blocks = result.get("content") or []
    if result.get("isError"):
        return _failed("\n".join(str(b.get("text", "")) for b in blocks if b.get("type") == "text"))
    if "structuredContent" in result:
        import json

        structured = result["structuredContent"]
        content = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
        detail = {"content": content, "structuredContent": structured}
        return Outcome(content, detail, is_error=None)
    return Outcome(blocks, blocks, is_error=None)


def _failed(text: str) -> Outcome:
    return Outcome(text, f"Error: {text}", is_error=True)
