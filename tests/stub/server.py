"""A small MCP server that answers in every way the transport allows."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from typing import Any

from stub.process import TIMEOUT_S, Json


class Fake:
    """`way`: json, sse, chunked (sse in chunks) or stateful (json with a session id)."""

    def __init__(self, way: str, host: str = "127.0.0.1") -> None:
        self.way = way
        self.session = "first life"
        self.methods: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.release = threading.Event()
        self._called = threading.Event()
        self._gone = threading.Event()
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                fake.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        self._server = Server((host, 0), Handler)
        place = f"[{host}]" if ":" in host else host
        self.base = f"http://{place}:{self._server.server_port}"
        self.url = f"{self.base}/t/token/mcp"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait_call(self) -> None:
        """Until a call of `hang` is here."""
        assert self._called.wait(TIMEOUT_S)

    def wait_gone(self) -> None:
        """Until the client of that call has hung up."""
        assert self._gone.wait(TIMEOUT_S)

    def answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        if handler.path != "/t/token/mcp":
            self._plain(handler, 404, b"")
            return
        self.methods.append(body["method"])
        self.headers.append(headers)
        known = body["method"] == "initialize" or headers.get("mcp-session-id") == self.session
        if self.way == "stateful" and not known:
            self._plain(handler, 404, b"")
            return
        if "id" not in body:
            self._plain(handler, 202, b"")
            return
        message: Json = {"jsonrpc": "2.0", "id": body["id"]}
        if (result := self._result(handler, body)) is None:
            return
        data = json.dumps(message | {"result": result}).encode()
        if self.way in ("json", "stateful"):
            self._plain(handler, 200, data)
        else:
            self._events(handler, data)

    def _result(self, handler: http.server.BaseHTTPRequestHandler, body: Json) -> Any:
        if body["method"] == "initialize":
            return {"protocolVersion": "2025-11-25", "serverInfo": {"name": "raw"}}
        if body["method"] == "tools/list":
            return {"tools": [{"name": name} for name in ("report", "fail", "hang")]}
        name = body["params"]["name"]
        if name == "fail":
            return {"isError": True, "content": [{"type": "text", "text": "failed"}]}
        if name == "hang":
            self._called.set()
            handler.connection.settimeout(0.02)
            while not self.release.is_set():
                try:
                    if not handler.connection.recv(1):
                        self._gone.set()
                        return None
                except TimeoutError:
                    continue
                except OSError:
                    self._gone.set()
                    return None
            return {"content": [{"type": "text", "text": "released"}]}
        return {"content": [{"type": "text", "text": f"got {body['params']['arguments']['text']}"}]}

    def _plain(self, handler: http.server.BaseHTTPRequestHandler, status: int, data: bytes) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        if self.way == "stateful":
            handler.send_header("Mcp-Session-Id", self.session)
        handler.end_headers()
        handler.wfile.write(data)

    def _events(self, handler: http.server.BaseHTTPRequestHandler, data: bytes) -> None:
        note = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'
        pieces = [b": a comment\r\n\r\n", b"data: " + note + b"\n\n", b"event: message\r\n",
                  b"data: " + data[:7], data[7:] + b"\r\n\r\n"]  # fmt: skip
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        if self.way == "chunked":
            handler.send_header("Transfer-Encoding", "chunked")
            pieces = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces] + [b"0\r\n\r\n"]
        else:
            handler.send_header("Connection", "close")
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(piece)
            handler.wfile.flush()
