"""Where a setting comes from, and what a wrong one is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.errors import ConfigurationError
from hive_subagent.permissions import TOP, Permissions
from hive_subagent.settings import ENV_PREFIX, Settings, load
from hive_subagent.system.operator_input import is_blank


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    for key in Settings.model_fields:
        monkeypatch.delenv(f"{ENV_PREFIX}{key.upper()}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def write(config: Path, **values: Any) -> Path:
    config.write_text(json.dumps(values))
    return config


def complaint(config: Path | None = None, **command_line: Any) -> str:
    """The text of the refusal: always one line."""
    with pytest.raises(ConfigurationError) as caught:
        load(config, **command_line)
    text = str(caught.value)
    assert len(text.splitlines()) == 1, text
    return text


def test_without_any_source_the_defaults_hold(tmp_path: Path) -> None:
    found = load()
    assert (found.host, found.port, found.claude_bin) == ("127.0.0.1", 8717, "claude")
    assert found.work_dir == tmp_path
    assert found.claude_config_dir == tmp_path / "home/.claude"
    assert found.state_dir == tmp_path / "home/.local/state/hive-subagent"
    assert found.runtime == found.state_dir / "runtime"
    assert found.sinks == [f"dir:{found.state_dir / 'todos'}"]


def test_the_file_beats_the_defaults(config: Path) -> None:
    found = load(write(config, port=1, max_running=3))
    assert (found.port, found.max_running, found.host) == (1, 3, "127.0.0.1")


def test_the_environment_beats_the_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_SUBAGENT_PORT", "2")
    found = load(write(config, port=1, max_running=3))
    assert (found.port, found.max_running) == (2, 3)


def test_the_command_line_beats_them_all(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_SUBAGENT_PORT", "2")
    assert load(write(config, port=1), port=3).port == 3
    assert load(config, port=None).port == 2


def test_one_call_leaves_nothing_behind_for_the_next(config: Path) -> None:
    load(write(config, port=1))
    assert load().port == 8717


def test_a_list_in_the_environment_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_SUBAGENT_CHILD_ENV", '["MY_*", "PGHOST"]')
    monkeypatch.setenv("HIVE_SUBAGENT_TODO_SINKS", '["unix:/run/todo.sock"]')
    found = load()
    assert found.child_env == ["MY_*", "PGHOST"]
    assert found.sinks == ["unix:/run/todo.sock"]


def test_systemd_and_xdg_name_the_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg/state")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/xdg/run")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/claude")
    found = load()
    assert found.state_dir == Path("/xdg/state/hive-subagent")
    assert found.runtime == Path("/xdg/run/hive-subagent")
    assert found.claude_config_dir == Path("/claude")
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/one:/var/lib/two")
    monkeypatch.setenv("RUNTIME_DIRECTORY", "/run/one:/run/two")
    found = load()
    assert (found.state_dir, found.runtime) == (Path("/var/lib/one"), Path("/run/one"))


def test_a_relative_path_and_the_tilde_are_made_absolute(config: Path, tmp_path: Path) -> None:
    found = load(write(config, work_dir="here/../there", state_dir="~/state"))
    assert found.work_dir == tmp_path / "there"
    assert found.state_dir == tmp_path / "home/state"


def test_an_unknown_key_of_the_file_is_named(config: Path) -> None:
    text = complaint(write(config, prot=1))
    assert text == f"setting 'prot' (in {config}) is unknown; correct its name or remove it"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("port", 65536),
        ("port", -1),
        ("port", "many"),
        ("max_running", 0),
        ("max_running", True),
        ("turn_timeout_s", False),
        ("default_max_turns", 0),
        ("interrupt_grace_s", 0),
        ("exit_grace_s", -1),
        ("resume_confirm_s", "inf"),
        ("permission_mode", "root"),
        ("todo_sinks", "dir:/x"),
        ("host", None),
        ("claude_bin", ["claude"]),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_file(config: Path, key: str, value: Any) -> None:
    text = complaint(write(config, **{key: value}))
    assert re.match(rf"setting {key}\b", text)
    assert str(config) in text


def test_a_wrong_variable_is_named_rather_than_the_file_it_overrides(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVE_SUBAGENT_MAX_RUNNING", "lots")
    text = complaint(write(config, max_running=3))
    assert text.startswith("setting max_running (HIVE_SUBAGENT_MAX_RUNNING): ")


def test_a_wrong_argument_is_named() -> None:
    assert complaint(port=70000).startswith("setting port (--port): ")


def test_a_list_that_is_not_json_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_SUBAGENT_CHILD_ENV", "PGHOST")
    text = complaint()
    assert "HIVE_SUBAGENT_" in text
    assert "child_env" in text


def test_below_bypass_no_settings_of_a_project_are_read(config: Path) -> None:
    """R29: a project's own settings could raise the mode again."""
    text = complaint(write(config, permission_mode="plan", setting_sources="user,project"))
    assert "setting_sources must be empty" in text
    assert load(write(config, permission_mode="plan")).setting_sources is None
    assert load(write(config, setting_sources="user")).setting_sources == "user"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'"port"', b"\xff\xfe{}", b"{}{}"])
def test_a_file_that_is_no_json_object_is_reported(config: Path, content: bytes) -> None:
    config.write_bytes(content)
    assert str(config) in complaint(config)


def test_a_file_that_cannot_be_read_is_reported(config: Path, tmp_path: Path) -> None:
    assert "No such file" in complaint(config)
    assert "it is a directory" in complaint(tmp_path)


def outcome(config: Path) -> Settings | str:
    try:
        return load(config)
    except ConfigurationError as error:
        return str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(sorted(Settings.model_fields)) | st.text()


@given(values=st.dictionaries(KEYS, JSON, max_size=4))
def test_any_object_is_read_or_refused_in_one_line(config: Path, values: dict[str, Any]) -> None:
    config.write_text(json.dumps(values))
    found = outcome(config)
    if isinstance(found, Settings):
        blank = {key for key in values if is_blank(values[key]) and key != "setting_sources"}
        assert set(values) - blank <= found.model_fields_set
    else:
        assert len(found.splitlines()) == 1


@given(content=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_in_one_line(config: Path, content: bytes) -> None:
    config.write_bytes(content)
    found = outcome(config)
    assert isinstance(found, Settings) or len(found.splitlines()) == 1


def test_the_ceiling_is_what_the_keys_say(config: Path, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    found = load(
        write(
            config,
            permission_mode="acceptEdits",
            tools=["Read", "Edit"],
            disallowed_tools=["WebFetch"],
            allowed_tools=["Bash(make *)"],
            add_dirs=["lib"],
        )
    )
    assert found.ceiling == Permissions.of(
        "acceptEdits",
        tools=["Read", "Edit"],
        denied=["WebFetch"],
        approved=["Bash(make *)"],
        directories=[tmp_path / "lib"],
    )
    assert load().ceiling == TOP


@pytest.mark.parametrize(
    ("values", "culprit"),
    [
        ({"tools": ["--model"]}, "'--model'"),
        ({"allowed_tools": ["Bash"]}, "bypassPermissions approves every tool"),
        ({"tools": ["Read"], "setting_sources": "project"}, "setting_sources"),
        ({"disallowed_tools": ["Bash"], "setting_sources": "user"}, "setting_sources"),
        ({"max_depth": 2}, "children of children"),
        ({"max_depth": -1}, "max_depth"),
    ],
)
def test_a_ceiling_that_cannot_be_kept_is_refused(
    config: Path, values: dict[str, Any], culprit: str
) -> None:
    assert culprit in complaint(write(config, **values))


@pytest.mark.parametrize(
    "name", ["*", "*.example", "http://a.example", "a.example/", "", "a b", "a:"]
)
def test_what_is_no_host_name_cannot_be_allowed(name: str) -> None:
    """Issue 10, 16: a pattern for all names would switch the check off."""
    with pytest.raises(ConfigurationError, match="is no host name"):
        load(allowed_hosts=[name])


@pytest.mark.parametrize("name", ["-a", "a b", "a\n", "a\r\nX: y", "caf\u00e9", '"', "a" * 65, 7])
def test_an_agents_name_fits_into_a_header(config: Path, name: object) -> None:
    """Issue 11, 12b."""
    assert "agent_name" in complaint(write(config, agent_name=name))
    fits = "Scout-1.example_" + "a" * 48
    assert load(agent_name=fits).agent_name == fits


def test_allowed_hosts_are_kept_in_lower_case() -> None:
    found = load(allowed_hosts=["Agent.Example", "box:8443", "[FD00::7]:1", "10.0.0.5"])
    assert found.allowed_hosts == ["agent.example", "box:8443", "[fd00::7]:1", "10.0.0.5"]
