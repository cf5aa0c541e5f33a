"""`hive-subagent mcp`: an MCP server on stdin and stdout that hands everything to the daemon.

Set up with `claude mcp add subagent -- hive-subagent mcp`: whoever may open the operator socket is
the owner, so no token is in any file or environment. Each message of the client becomes a request
to `/mcp`; what comes back, progress included, goes to stdout a line each. A daemon that restarts
costs the calls in flight, which get an error that says so, and no more.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from hive_subagent.cli.client import CallFailed, Client, Refused, Unreachable, find_socket

BACK_S = 15.0
"""Seconds that a call waits for a daemon that restarts."""

RETRY_S = 0.25

UNREACHABLE = -32000
"""JSON-RPC's code for an error of the server's own."""

ACCEPTED = "application/json, text/event-stream"


class Bridge:
    """Copies messages both ways; each request in a thread of its own, since `wait` takes hours."""

    def __init__(self, named: Path | None, output: IO[bytes]) -> None:
        """`named` is the operator socket, if the user gave one; `output` is the client's."""
        self._named = named
        self._output = output
        self._writing = threading.Lock()
        self._headers: dict[str, str] = {
            "Content-Type": "application/json",
            "Accept": ACCEPTED,
        }

    def serve(self, lines: Iterator[bytes]) -> None:
        """Hand on what the client says until it ends."""
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if not isinstance(message, dict):
                continue
            if message.get("method") == "initialize":
                self._name_client(message)
                # what follows has the version that is agreed on here
                self._hand_on(message, line)
            else:
                threading.Thread(target=self._hand_on, args=(message, line), daemon=True).start()

    def _name_client(self, message: Mapping[str, Any]) -> None:
        # the daemon answers Claude Code otherwise than others, and knows it by this
        params = message.get("params")
        about = params.get("clientInfo") if isinstance(params, dict) else None
        if isinstance(about, dict):
            name, version = about.get("name"), about.get("version")
            agent = f"{name}/{version}".encode("ascii", "ignore").decode()
            self._headers["User-Agent"] = "".join(c for c in agent if c.isprintable())[:200]

    def _hand_on(self, message: Mapping[str, Any], line: bytes) -> None:
        try:
            for answer in self._ask(message, line):
                self._note_version(message, answer)
                self._write(answer)
        except CallFailed as error:
            if "id" in message and "method" in message:
                self._refuse(message, str(error))

    def _ask(self, message: Mapping[str, Any], line: bytes) -> Iterator[bytes]:
        """The messages that come back. Raises CallFailed, also where the answer is missing."""
        began = time.monotonic()
        while True:
            sent = False
            try:
                client = Client(find_socket(self._named, os.environ))
                with client.request(
                    "POST", "/mcp", line, self._headers, timeout_s=None
                ) as response:
                    sent = True
                    answered = "id" not in message or "method" not in message
                    for answer in _messages(response):
                        answered = answered or json.loads(answer).get("id") == message["id"]
                        yield answer
                    if not answered:
                        # the end of a daemon looks like the end of a stream
                        raise Unreachable("the daemon ended")
                return
            except Unreachable as error:
                # a call that was taken is not made again: it may have been carried out
                if sent:
                    raise Unreachable(
                        f"{error}; the call was lost with it: see `status` before you call again"
                    ) from None
                if time.monotonic() - began > BACK_S:
                    raise
                time.sleep(RETRY_S)

    def _note_version(self, message: Mapping[str, Any], answer: bytes) -> None:
        if message.get("method") != "initialize":
            return
        result = json.loads(answer).get("result")
        if isinstance(result, dict) and (version := result.get("protocolVersion")):
            self._headers["MCP-Protocol-Version"] = str(version)

    def _refuse(self, message: Mapping[str, Any], text: str) -> None:
        error = {"code": UNREACHABLE, "message": text}
        answer = {"jsonrpc": "2.0", "id": message["id"], "error": error}
        self._write(json.dumps(answer).encode())

    def _write(self, message: bytes) -> None:
        with self._writing:
            self._output.write(message + b"\n")
            self._output.flush()


def _messages(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The JSON-RPC messages of a response, each on one line."""
    kind = response.headers.get_content_type()
    if kind == "text/event-stream":
        data: list[bytes] = []
        for line in response:
            stripped = line.rstrip(b"\r\n")
            if stripped.startswith(b"data:"):
                data.append(stripped[5:].removeprefix(b" "))
            elif not stripped and data:
                if message := _one_line(b"\n".join(data)):
                    yield message
                data = []
    elif kind == "application/json":
        if message := _one_line(response.read()):
            yield message
    else:
        content = response.read(500)
        if response.status >= 400:
            said = " ".join(content.decode("utf-8", "replace").split())
            raise Refused(f"the daemon answered {response.status}: {said}")


def _one_line(message: bytes) -> bytes:
    try:
        return json.dumps(json.loads(message), separators=(",", ":")).encode()
    except ValueError:
        return b""


def main(named: Path | None) -> int:
    """Serve stdin and stdout until the client closes them."""
    with suppress(BrokenPipeError, KeyboardInterrupt):
        Bridge(named, sys.stdout.buffer).serve(iter(sys.stdin.buffer.readline, b""))
    # threads that wait for an answer have nobody left to tell it to
    sys.stdout.flush()
    os._exit(0)
