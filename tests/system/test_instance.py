"""Private directories, the daemon's locks, and files that are written whole or not at all."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hive_subagent.errors import ConfigurationError
from hive_subagent.system.instance import lock_directory, state_identity
from hive_subagent.system.private_files import (
    private_directory,
    read_ours,
    read_private,
    write_private,
)

# locks argv[1], says so, and holds until its stdin ends
HOLDER = """
import sys
from pathlib import Path
from hive_subagent.system.instance import lock_directory
held = lock_directory(Path(sys.argv[1]), {"version": "1"})
print("locked", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_private_directory_is_made_for_us_alone(tmp_path: Path) -> None:
    private_directory(tmp_path / "a" / "b")
    assert mode(tmp_path / "a" / "b") == 0o700


def test_a_directory_open_to_others_is_tightened(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d").chmod(0o2775)
    private_directory(tmp_path / "d")
    assert mode(tmp_path / "d") & 0o777 == 0o700


def test_a_link_is_refused_as_private_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(ConfigurationError, match="link is a symbolic link; name the directory"):
        private_directory(tmp_path / "link")


def test_a_dangling_link_is_refused_and_its_target_not_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match="symbolic link"):
        private_directory(tmp_path / "link")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o755)
    os.chown(tmp_path / "theirs", 12345, -1)
    with pytest.raises(ConfigurationError, match="belongs to uid 12345, not to uid 0"):
        private_directory(tmp_path / "theirs")
    assert mode(tmp_path / "theirs") == 0o755


@pytest.mark.parametrize("name", ["file", "file/below", "nul\0"])
def test_a_path_that_can_be_no_directory_is_one_line_naming_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigurationError, match="cannot be used") as caught:
        private_directory(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_second_daemon_names_the_holder_of_the_directory(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        said = f"in use by the daemon with pid {holder.pid}"
        with pytest.raises(ConfigurationError, match=said) as error:
            lock_directory(tmp_path, {})
        assert error.value.path == str(tmp_path), "issue 12, 10"
        assert json.loads((tmp_path / "daemon.lock").read_text()) == {
            "version": "1",
            "pid": holder.pid,
        }
        holder.kill()
        holder.wait()
        lock_directory(tmp_path, {}).release()


def test_one_directory_for_two_purposes_differs_from_a_second_daemon(tmp_path: Path) -> None:
    with (
        lock_directory(tmp_path, {}),
        pytest.raises(ConfigurationError, match="state_dir and runtime_dir must differ"),
    ):
        lock_directory(tmp_path, {})


def test_a_shorter_note_leaves_nothing_of_the_longer_one_before(tmp_path: Path) -> None:
    lock_directory(tmp_path, {"instance": "x" * 500}).release()
    with lock_directory(tmp_path, {"instance": "y"}):
        note = json.loads((tmp_path / "daemon.lock").read_text())
    assert note == {"instance": "y", "pid": os.getpid()}
    assert mode(tmp_path / "daemon.lock") == 0o600


def test_a_child_of_the_daemon_does_not_keep_its_lock(tmp_path: Path) -> None:
    lock = lock_directory(tmp_path, {})
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False):
        lock.release()
        lock_directory(tmp_path, {}).release()


def test_a_lock_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "daemon.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(ConfigurationError, match=r"daemon\.lock cannot be opened"):
        lock_directory(tmp_path, {})
    assert not (tmp_path / "victim").exists()


def test_the_identity_of_a_state_directory_stays(tmp_path: Path) -> None:
    first = state_identity(tmp_path)
    assert len(first) == 32
    assert state_identity(tmp_path) == first
    assert mode(tmp_path / "identity") == 0o600


def test_two_state_directories_have_two_identities(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert state_identity(tmp_path / "a") != state_identity(tmp_path / "b")


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 32, b"0" * 31])
def test_a_broken_identity_is_made_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "identity").write_bytes(content)
    made = state_identity(tmp_path)
    assert state_identity(tmp_path) == made != content.decode("latin-1")


def test_an_identity_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "identity").mkdir()
    with pytest.raises(ConfigurationError, match="identity cannot be read or made"):
        state_identity(tmp_path)


def test_a_private_write_replaces_whole_and_is_ours_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"before" * 100)
    (tmp_path / "f").chmod(0o644)
    write_private(tmp_path / "f", b"after")
    assert read_private(tmp_path / "f") == b"after"
    assert mode(tmp_path / "f") == 0o600
    assert os.listdir(tmp_path) == ["f"]


def test_a_private_write_replaces_a_link_and_spares_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "f").symlink_to(tmp_path / "target")
    write_private(tmp_path / "f", b"ours")
    assert (tmp_path / "target").read_text() == "precious"
    assert not (tmp_path / "f").is_symlink()


def test_a_private_write_that_fails_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_private(tmp_path / "d", b"x")
    assert os.listdir(tmp_path) == ["d"]


def test_a_private_read_follows_no_link_and_waits_for_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match=name):
            read_private(tmp_path / name)


def test_a_private_read_of_something_else_leaves_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for read in (read_private, read_ours):
        with pytest.raises(OSError, match="directory"):
            read(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_of_ours_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / "f").chmod(0o666)
    assert read_ours(tmp_path / "f") == b"x"
    assert mode(tmp_path / "f") == 0o600


def test_no_more_is_read_than_we_ever_write(tmp_path: Path) -> None:
    """A file of gigabytes must not cost the daemon its memory at each start."""
    (tmp_path / "f").touch(mode=0o600)
    os.truncate(tmp_path / "f", 1 << 40)
    for read in (read_private, read_ours):
        with pytest.raises(OSError) as caught:  # noqa: PT011  (it is the word that counts)
            read(tmp_path / "f")
        assert "larger than" in str(caught.value.strerror)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_that_another_user_put_there_is_not_believed(tmp_path: Path) -> None:
    for name in ("identity", "daemon.lock"):
        (tmp_path / name).write_text("0" * 32)
        os.chown(tmp_path / name, 12345, -1)
    with pytest.raises(OSError, match="belongs to uid 12345, not to uid 0"):
        read_ours(tmp_path / "identity")
    with pytest.raises(ConfigurationError, match="uid 12345"):
        state_identity(tmp_path)
    with pytest.raises(ConfigurationError, match="uid 12345"):
        lock_directory(tmp_path, {})
    assert (tmp_path / "daemon.lock").read_text() == "0" * 32


@pytest.mark.parametrize("mask", [0, 0o077, 0o777])
def test_what_is_made_is_private_whatever_the_umask_is(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        private_directory(tmp_path / "a" / "b")
        write_private(tmp_path / "a" / "b" / "f", b"x")
        lock_directory(tmp_path / "a" / "b", {}).release()
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "f") == 0o600
    assert mode(tmp_path / "a" / "b" / "daemon.lock") == 0o600
