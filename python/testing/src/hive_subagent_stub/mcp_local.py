"""MCP servers without HTTP: a child process on pipes, or the supervisor itself (`sdk`)."""

from __future__ import annotations

import json
import os
import signal
import time

from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.http import Unreachable
from hive_subagent_stub.mcp_watch import TimedOut

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.mcp_watch import Watch
    from hive_subagent_stub.stub import Stub


class Stdio:
    """A server that we start; in our own process group, as the CLI's are."""

    source = "dynamic"

    def __init__(self, entry: Json) -> None:
        self._entry = entry
        self._pid = 0
        self._in = self._out = -1
        self._buffer = bytearray()

    def open(self) -> None:
        """Start it. Raises Unreachable where the program is missing."""
        command = str(self._entry["command"])
        words = [command, *(str(word) for word in self._entry.get("args") or [])]
        given = {str(k): str(v) for k, v in (self._entry.get("env") or {}).items()}
        child_in, self._in = os.pipe()
        self._out, child_out = os.pipe()
        os.set_blocking(self._out, False)
        actions = [
            (os.POSIX_SPAWN_DUP2, child_in, 0),
            (os.POSIX_SPAWN_DUP2, child_out, 1),
            (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
        ]
        try:
            self._pid = os.posix_spawnp(
                command,
                words,
                {**os.environ, **given},
                file_actions=actions,
                setsigdef=[signal.SIGPIPE],
            )
        except OSError as error:
            raise Unreachable(f"{command}: {error.strerror}") from None
        finally:
            os.close(child_in)
            os.close(child_out)

    def exchange(
        self, stub: Stub, body: Json, *, until: float | None, watch: Watch | None
    ) -> Json | None:
        """Send one message and wait for its answer (None for a notification)."""
        if not self._pid:
            self.open()
        try:
            os.write(self._in, json.dumps(body).encode() + b"\n")
        except OSError as error:
            raise Unreachable(str(error.strerror)) from None
        while "id" in body:
            while b"\n" in self._buffer:
                raw, _, rest = bytes(self._buffer).partition(b"\n")
                self._buffer = bytearray(rest)
                message = _parse(raw)
                if message.get("id") == body["id"] and "method" not in message:
                    return message
                if watch is not None:
                    watch.event(message)
            self._more(stub, until, watch)
        return None

    def _more(self, stub: Stub, until: float | None, watch: Watch | None) -> None:
        wake = until if watch is None else watch.tick()
        if not stub.wait(wake, [self._out]):
            if until is not None and time.monotonic() >= until:
                raise TimedOut
            return
        data = os.read(self._out, 65536)
        if not data:
            raise Unreachable("connection closed")
        self._buffer += data

    def close(self) -> None:
        """Close its stdin and ask it to end; one that does not listen stays, as with the CLI."""
        if self._pid:
            os.close(self._in)
            os.kill(self._pid, signal.SIGTERM)
            self._pid = 0


class Sdk:
    """A server that lives in the supervisor, reached over the control channel."""

    source = "sdk"

    def __init__(self, name: str) -> None:
        self._name = name

    def exchange(
        self, stub: Stub, body: Json, *, until: float | None, watch: Watch | None
    ) -> Json | None:
        """Ask with `mcp_message`; the answer comes as `mcp_response`."""
        del watch
        request = {"subtype": "mcp_message", "server_name": self._name, "message": body}
        left = None if until is None else until - time.monotonic()
        answer = stub.hooks.request(request, left)
        if answer is None:
            raise Unreachable("no answer over the control channel")
        response = answer.get("mcp_response")
        return response if isinstance(response, dict) and "id" in body else None

    def close(self) -> None:
        """Nothing of it is ours."""


def _parse(raw: bytes) -> Json:
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
