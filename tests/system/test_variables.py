"""Environments that users have: blank and unknown variables, no home, no working directory."""

from __future__ import annotations

import json
import os
import pwd
import stat
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.unusable import run

from hive_subagent.errors import ConfigurationError
from hive_subagent.outbox.sink_entries import parse_sink
from hive_subagent.settings import ENV_PREFIX, Settings, load
from hive_subagent.system import operator_input

DIRECTORIES = ("CLAUDE_CONFIG_DIR", "STATE_DIRECTORY", "RUNTIME_DIRECTORY")
XDG = ("XDG_STATE_HOME", "XDG_RUNTIME_DIR")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [*os.environ]:
        if name.startswith(ENV_PREFIX) or name in (*DIRECTORIES, *XDG):
            monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uid without an entry among the users, and no HOME."""

    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("key", Settings.model_fields)
@pytest.mark.parametrize("blank", ["", " \t"])
def test_a_blank_variable_counts_as_unset(
    monkeypatch: pytest.MonkeyPatch, key: str, blank: str
) -> None:
    """Issue 9, 17."""
    usual = load()
    monkeypatch.setenv(f"{ENV_PREFIX}{key.upper()}", blank)
    assert load() == usual
    assert key not in load().model_fields_set


@pytest.mark.parametrize("key", sorted(set(Settings.model_fields) - {"setting_sources"}))
def test_a_blank_value_in_the_file_counts_as_unset(tmp_path: Path, key: str) -> None:
    """Issue 9, 17."""
    (tmp_path / "config.json").write_text(json.dumps({key: " "}))
    assert load(tmp_path / "config.json") == load()


def test_an_empty_list_of_sources_in_the_file_is_a_value_of_claude(tmp_path: Path) -> None:
    """As unset it would let in settings that the operator has excluded."""
    (tmp_path / "config.json").write_text('{"setting_sources": ""}')
    assert load(tmp_path / "config.json").setting_sources == ""


@pytest.mark.parametrize("name", [*DIRECTORIES, *XDG])
def test_a_blank_variable_of_others_counts_as_unset(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Issue 9, 17."""
    usual = load()
    monkeypatch.setenv(name, " ")
    assert (load(), load().runtime) == (usual, usual.runtime)


def test_a_blank_home_is_looked_up_among_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 9, 17 and 23: `~/.claude` would become `/.claude`."""
    monkeypatch.setenv("HOME", "")
    assert load().claude_config_dir == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".claude"


def test_a_blank_path_within_a_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"permission_mode": "plan", "add_dirs": [""]}')
    with pytest.raises(ConfigurationError, match=r"add_dirs\.0 .*the path is blank"):
        load(tmp_path / "config.json")


def test_a_blank_state_directory_leaves_the_working_directory_alone(world: Daemon) -> None:
    """Issue 9, 17: it was made 0700; in `/` as root, nobody else could run anything any more."""
    world.settings["state_dir"] = ""
    world.environment |= {"HIVE_SUBAGENT_STATE_DIR": "", "XDG_RUNTIME_DIR": str(world.root / "xdg")}
    world.root.chmod(0o755)
    world.start()
    assert world.stop() == 0
    assert mode(world.root) == 0o755
    assert (world.root / "home/.local/state/hive-subagent/identity").exists()


@pytest.mark.parametrize("key", ["state_dir", "runtime_dir"])
@pytest.mark.parametrize("place", ["/", "home", "."])
def test_the_root_and_homes_are_never_taken_over(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
    place: str,
) -> None:
    """Issue 9, 17."""
    (tmp_path / "home").chmod(0o755)
    tmp_path.chmod(0o755)
    where = tmp_path / place
    before = mode(where)
    code, said = run(tmp_path, monkeypatch, capsys, **{key: str(where)})
    assert code == 2
    assert f"{key} {where} is " in said
    assert "a directory of its own" in said
    assert mode(where) == before
    assert not (where / "daemon.lock").exists()


@pytest.mark.parametrize("used_before", [False, True])
def test_a_folder_with_foreign_files_is_refused_and_left_as_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    used_before: bool,
) -> None:
    """Issue 9, 17."""
    (tmp_path / "src").mkdir(mode=0o755)
    (tmp_path / "src" / "thesis.tex").write_text("mine")
    if used_before:
        (tmp_path / "src" / "daemon.lock").touch()
    code, said = run(tmp_path, monkeypatch, capsys, state_dir=str(tmp_path / "src"))
    assert code == 2
    assert (
        f"state_dir {tmp_path / 'src'} holds files that are not the daemon's ('thesis.tex')" in said
    )
    assert mode(tmp_path / "src") == 0o755


def test_a_private_directory_that_a_daemon_has_had_may_hold_other_files(world: Daemon) -> None:
    """Issue 9, 17: an upgrade is not kept from starting by what somebody put beside the state."""
    world.start()
    assert world.stop() == 0
    (world.state_dir / "notes.txt").write_text("mine")
    world.start()
    assert world.stop() == 0


def test_unknown_variables_are_reported_with_the_name_that_was_meant() -> None:
    """Issue 9, 17: AUTH_TOKEN had no effect, and any local process was the owner."""
    given = {
        "HIVE_SUBAGENT_AUTH_TOKEN": "s3cret",
        "hive_subagent_prot": "1",
        "HIVE_SUBAGENT_WHATEVER_ELSE": "x",
        "HIVE_SUBAGENT_SETTING_SOURCES": "",
        "HIVE_SUBAGENT_PORT": "1",
        "HIVE_SUBAGENT_TOKEN": "of a client",
        "HIVE_SUBAGENT_RUN": "a:b",
        "HIVE_SUBAGENT_SOCKET": "/s",
        "HIVE_SUBAGENT_STUB_VERSION": "2.1.197",
        "PATH": "/somewhere",
    }
    lines = operator_input.warnings(given, Settings.model_fields)
    assert [line.partition(" ")[0] for line in lines] == [
        "HIVE_SUBAGENT_AUTH_TOKEN",
        "HIVE_SUBAGENT_SETTING_SOURCES",
        "HIVE_SUBAGENT_WHATEVER_ELSE",
        "hive_subagent_prot",
    ]
    assert "did you mean HIVE_SUBAGENT_AUTH_TOKEN_FILE?" in lines[0]
    assert "counts as unset" in lines[1]
    assert "remove it or correct its name" in lines[2]
    assert "did you mean HIVE_SUBAGENT_PORT?" in lines[3]
    assert "s3cret" not in "".join(lines)


def test_the_daemon_warns_of_an_unknown_variable_and_serves(world: Daemon) -> None:
    """Issue 9, 17."""
    world.environment["HIVE_SUBAGENT_AUTH_TOKEN"] = "s3cret"
    world.start()
    assert "did you mean HIVE_SUBAGENT_AUTH_TOKEN_FILE?" in world.log
    assert "s3cret" not in world.log


@pytest.mark.usefixtures("homeless")
def test_without_a_home_what_needs_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 9, 23: it was a traceback, and exit code 1."""
    code, said = run(tmp_path, monkeypatch, capsys)
    assert code == 2
    assert "setting claude_config_dir: " in said
    assert "has no home directory; set HOME, or give an absolute path" in said


@pytest.mark.usefixtures("homeless")
def test_without_a_home_absolute_paths_are_enough(tmp_path: Path) -> None:
    """Issue 9, 23."""
    given = {key: str(tmp_path / key) for key in ("claude_config_dir", "state_dir", "runtime_dir")}
    (tmp_path / "config.json").write_text(json.dumps(given))
    assert load(tmp_path / "config.json").state_dir == tmp_path / "state_dir"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("state_dir", "~nosuchuser/state"),
        ("claude_config_dir", "~nosuchuser"),
        ("todo_sinks", ["dir:~nosuchuser/x"]),
        ("todo_sinks", ["unix:~nosuchuser/x"]),
    ],
)
def test_a_home_of_no_user_is_named_in_the_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
    value: object,
) -> None:
    """Issue 9, 23: a sink became a literal folder `~nosuchuser`."""
    code, said = run(tmp_path, monkeypatch, capsys, **{key: value})
    assert code == 2
    assert key in said
    assert "there is no user 'nosuchuser'" in said


def test_the_home_of_another_user_is_found() -> None:
    root = pwd.getpwuid(0)
    assert parse_sink(f"dir:~{root.pw_name}/x").key == f"dir:{root.pw_dir}/x"


def test_a_working_directory_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 9, 23."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    code, said = run(tmp_path, monkeypatch, capsys)
    assert code == 2
    assert "setting work_dir: " in said
    assert "the daemon's working directory cannot be used" in said
    code, said = run(tmp_path, monkeypatch, capsys, work_dir=str(tmp_path), mcp_servers_file="x")
    assert code == 2
    assert "mcp_servers_file" in said
    (tmp_path / "config.json").write_text(json.dumps({"work_dir": str(tmp_path)}))
    assert load(tmp_path / "config.json").work_dir == tmp_path
    monkeypatch.setenv("XDG_RUNTIME_DIR", "relative")
    with pytest.raises(ConfigurationError, match="working directory cannot be used"):
        load(tmp_path / "config.json")
