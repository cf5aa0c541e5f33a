"""Who holds the other end of a connection (issue 10, 9)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from hive_subagent.system.sockdiag import SocketDiagnostics

CALL = """
import encodings.idna, os, socket, sys  # the first while the library can still be read
os.setuid(int(sys.argv[1]))
with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as connection:
    connection.recv(1)
"""


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_our_own_user_is_recognised(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"no {address} here")
    with listener, socket.create_connection(listener.getsockname()[:2]):
        accepted, peer = listener.accept()
        with accepted, SocketDiagnostics() as kernel:
            assert kernel.uid_of_peer(accepted.getsockname(), peer) == os.geteuid()


def test_an_ipv4_caller_of_a_socket_for_both_is_known() -> None:
    try:
        listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    except OSError:
        pytest.skip("no IPv6 here")
    with listener, socket.create_connection(("127.0.0.1", listener.getsockname()[1])):
        accepted, peer = listener.accept()
        with accepted, SocketDiagnostics() as kernel:
            assert peer[0] == "::ffff:127.0.0.1"
            assert kernel.uid_of_peer(accepted.getsockname(), peer) == os.geteuid()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_another_user_is_distinguished() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, SocketDiagnostics() as kernel:
        arguments = [sys.executable, "-c", CALL, "4242", str(listener.getsockname()[1])]
        caller = subprocess.Popen(arguments)
        listener.settimeout(60)
        accepted, peer = listener.accept()
        with accepted:
            assert kernel.uid_of_peer(accepted.getsockname(), peer) == 4242
        assert caller.wait(60) == 0


def test_a_closed_connection_belongs_to_no_user() -> None:
    """The kernel tells user 0 of it, who could do more than a stranger."""
    with socket.create_server(("127.0.0.1", 0)) as listener, SocketDiagnostics() as kernel:
        caller = socket.create_connection(listener.getsockname())
        accepted, peer = listener.accept()
        with accepted:
            caller.close()
            assert accepted.recv(1) == b""
            assert kernel.uid_of_peer(accepted.getsockname(), peer) is None
            assert kernel.uid_of_peer(accepted.getsockname(), ("127.0.0.1", 1)) is None
            assert kernel.uid_of_peer(("no address", 1), ("neither", 1)) is None


def test_where_the_kernel_does_not_report_it_no_user_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refuse)
    with SocketDiagnostics() as kernel:
        assert kernel.uid_of_peer(("127.0.0.1", 1), ("127.0.0.1", 2)) is None
