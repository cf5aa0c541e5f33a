"""A proxy that passes nothing on and remembers what it was asked."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

REFUSAL = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Proxy:
    """Listens on a free port of 127.0.0.1; `asked` holds the head of each request."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked: list[str] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            with connection:
                head = b""
                while b"\r\n\r\n" not in head and (more := connection.recv(65536)):
                    head += more
                self.asked.append(head.decode("latin-1"))
                connection.sendall(REFUSAL)
