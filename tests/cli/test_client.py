"""Where the command line looks for a daemon, and what it says where there is none."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from hive_subagent.cli.client import Client, Refused, Unreachable, candidates, find_socket


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ["/run/hive-subagent/operator.sock"]),
        (
            {"XDG_RUNTIME_DIR": "/run/user/7", "RUNTIME_DIRECTORY": "/run/a:/run/b"},
            [
                "/run/a/operator.sock",
                "/run/b/operator.sock",
                "/run/user/7/hive-subagent/operator.sock",
                "/run/hive-subagent/operator.sock",
            ],
        ),
        ({"HIVE_SUBAGENT_SOCKET": "/s", "RUNTIME_DIRECTORY": "/run/a"}, ["/s"]),
        ({"HIVE_SUBAGENT_SOCKET": " "}, ["/run/hive-subagent/operator.sock"]),
    ],
)
def test_the_socket_is_looked_for_at_these_places(
    environment: dict[str, str], expected: list[str]
) -> None:
    """Issue 13, 2."""
    assert [str(place) for place in candidates(environment)] == expected


def test_the_first_socket_that_is_there_is_taken(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    place = tmp_path / "b" / "operator.sock"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(place))
        given = {"RUNTIME_DIRECTORY": f"{tmp_path}/a:{tmp_path}/b"}
        assert find_socket(None, given) == place


def test_without_a_socket_the_error_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="start hive-subagent-daemon") as error:
        find_socket(None, {"XDG_RUNTIME_DIR": str(tmp_path)})
    assert f"{tmp_path}/hive-subagent/operator.sock" in str(error.value)


def test_a_socket_of_a_daemon_that_has_ended_is_told_as_such(tmp_path: Path) -> None:
    place = tmp_path / "operator.sock"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(place))
    with pytest.raises(Unreachable, match="it has ended; start it again"):
        Client(find_socket(place, {})).get("/sessions")


def test_an_answer_that_is_no_json_is_an_error_of_one_line(tmp_path: Path) -> None:
    place = tmp_path / "operator.sock"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(place))
        made.listen()
        client = Client(place)

        def serve() -> None:
            peer, _ = made.accept()
            with peer:
                peer.recv(4096)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(Refused, match="no JSON object"):
            client.get("/sessions")
        thread.join()
