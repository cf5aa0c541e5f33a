"""Files that an operator names: whole, or a word why not; never a wait."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hive_subagent.claude.mcp_config import read_servers
from hive_subagent.delegation.roles import read_roles
from hive_subagent.errors import ConfigurationError
from hive_subagent.server.guards import read_token
from hive_subagent.settings import load
from hive_subagent.system.operator_input import read_given

READERS: dict[str, Callable[[Path], object]] = {
    "settings": load,
    "token": lambda file: read_token(file, host="127.0.0.1"),
    "servers": read_servers,
    "role": lambda file: read_roles(file.parent),
}


def test_a_file_is_read_behind_a_link_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_given(tmp_path / "link") == b"content"


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_given(tmp_path / "file", limit=5) == b"12345"
    with pytest.raises(OSError) as caught:  # noqa: PT011  (it is the word that counts)
        read_given(tmp_path / "file", limit=4)
    assert caught.value.strerror == "it is larger than 4 bytes"


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "huge"])
def test_what_would_never_end_is_refused_by_name(tmp_path: Path, reader: str, kind: str) -> None:
    file = tmp_path / "given.md"
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "device":
            file.symlink_to("/dev/zero")
        case _:
            file.touch()
            os.truncate(file, 3 << 30)
    with pytest.raises(ConfigurationError) as caught:
        READERS[reader](file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
