#!/usr/bin/env python3
"""Run a command for each notice of a hive-subagent-daemon; needs Python alone.

    listen.py SOCKET COMMAND [ARGUMENT ...]

SOCKET is the path of a sink `unix:SOCKET` of the daemon. The command gets the notice as JSON on its
stdin. When it exits with 0 the notice is accepted; otherwise the daemon delivers it again later. A
notice that comes twice runs the command once. Ends with Ctrl-C.
"""

from __future__ import annotations

import contextlib
import json
import os
import socketserver
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def listen(path: Path, command: Sequence[str]) -> None:
    """Serve the socket until Ctrl-C."""
    accepted: set[str] = set()

    class Notices(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            line = self.rfile.readline()
            identity = str(json.loads(line)["id"])
            if identity not in accepted:
                if subprocess.run(command, input=line, check=False).returncode != 0:
                    return  # closed without an answer: it comes again
                accepted.add(identity)
            self.wfile.write(b'{"ok":true}\n')

    path.unlink(missing_ok=True)
    # one notice after the other; the umask keeps other users away
    os.umask(0o077)
    with socketserver.UnixStreamServer(str(path), Notices) as server:
        sys.stdout.write(f"listening at {path}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    path.unlink()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    listen(Path(sys.argv[1]), sys.argv[2:])
