"""The daemon's settings: one model, four sources.

Strongest first: command line, environment `HIVE_SUBAGENT_<KEY>`, the JSON file of `--config`,
defaults. A blank value counts as unset. An unknown key in the file is an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from hive_subagent.errors import ConfigurationError
from hive_subagent.permissions import PermissionMode, Permissions
from hive_subagent.setting_types import (
    AbsolutePath,
    AgentName,
    Depth,
    HostName,
    Seconds,
    SinkEntry,
    Size,
    UrlEntry,
)
from hive_subagent.system import operator_input
from hive_subagent.system.operator_input import (
    absolute_path,
    first_set,
    is_blank,
    read_given,
    set_variables,
)

ENV_PREFIX = operator_input.PREFIX
_CONFIG_DIR = "CLAUDE_CONFIG_DIR"


def _default_config_dir() -> Path:
    return Path(first_set(os.environ, _CONFIG_DIR) or "~/.claude")


def _default_state_dir() -> Path:
    # systemd gives a colon-separated list when a unit has several
    if given := first_set(os.environ, "STATE_DIRECTORY"):
        return Path(given.split(":")[0])
    return Path(first_set(os.environ, "XDG_STATE_HOME") or "~/.local/state") / "hive-subagent"


class Settings(BaseSettings):
    """Every key with its default; docs/reference/settings.md gives the meanings."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, extra="forbid", frozen=True, validate_default=True
    )

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8717
    allowed_hosts: list[HostName] = []
    agent_name: AgentName | None = None
    claude_bin: str = "claude"
    claude_config_dir: AbsolutePath = Field(default_factory=_default_config_dir)
    work_dir: AbsolutePath = Path()
    state_dir: AbsolutePath = Field(default_factory=_default_state_dir)
    runtime_dir: AbsolutePath | None = None
    mcp_servers_file: AbsolutePath | None = None
    todo_sinks: list[SinkEntry] | None = None
    auth_token_file: AbsolutePath | None = None
    default_model: str | None = None
    permission_mode: PermissionMode = "bypassPermissions"
    tools: list[str] | None = None
    disallowed_tools: list[str] = []
    allowed_tools: list[str] = []
    add_dirs: list[AbsolutePath] = []
    setting_sources: str | None = None
    child_env: list[str] = []
    resume_confirm_s: Seconds = 5.0
    interrupt_grace_s: Seconds = 5.0
    exit_grace_s: Seconds = 10.0
    shutdown_grace_s: Seconds = 10.0
    turn_timeout_s: Seconds | None = None
    background_wait_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1800.0
    memory_max: Size | None = None
    stop_grace_s: Seconds = 60.0
    channels: bool = True
    max_running: Annotated[int, Field(ge=1)] = 8
    default_max_turns: Annotated[int, Field(ge=1)] = 5
    roles_dir: AbsolutePath | None = None
    max_depth: Depth = 1

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Command line (as keyword arguments), environment, file."""
        assert isinstance(env_settings, EnvSettingsSource)
        env_settings.env_vars = set_variables(
            {name: value or "" for name, value in env_settings.env_vars.items()}
        )
        return init_settings, env_settings, InitSettingsSource(settings_cls, _FILE_VALUES)

    @field_validator("*", mode="before")
    @classmethod
    def _no_boolean_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, bool) and info.field_name != "channels":
            raise ValueError(f"{str(value).lower()} is no value for it")
        return value

    @model_validator(mode="after")
    def _no_setting_sources_where_confined(self) -> Self:
        # a project's own settings could raise the mode again (measured with 2.1.197)
        if self.ceiling.confined and self.setting_sources:
            raise ValueError(
                "setting_sources must be empty where permission_mode is below bypass or tools are"
                " taken away"
            )
        return self

    @property
    def ceiling(self) -> Permissions:
        """What a subagent may do at most; what cannot be one was refused with the settings."""
        return Permissions.of(
            self.permission_mode,
            tools=self.tools,
            denied=self.disallowed_tools,
            approved=self.allowed_tools,
            directories=self.add_dirs,
        )

    @property
    def child_config_dir(self) -> Path | None:
        """What a child gets as `CLAUDE_CONFIG_DIR`; None where it gets none.

        Claude looks for the login in `~/.claude.json` without the variable, and in
        `<CLAUDE_CONFIG_DIR>/.claude.json` with it, even where that is `~/.claude`.
        """
        given = "claude_config_dir" in self.model_fields_set
        return self.claude_config_dir if given or first_set(os.environ, _CONFIG_DIR) else None

    @property
    def sinks(self) -> Sequence[str | UrlEntry]:
        """Where notices go, as `outbox.sink_entries` reads it."""
        if self.todo_sinks is None:
            return [f"dir:{self.state_dir / 'todos'}"]
        return self.todo_sinks

    @property
    def sink_kinds(self) -> list[str]:
        """The kinds of those places, `dir` or `https`; no more of them is for a model to read."""
        places = (sink if isinstance(sink, str) else sink.url for sink in self.sinks)
        return list(dict.fromkeys(place.partition(":")[0] for place in places))

    @property
    def runtime(self) -> Path:
        """Where per-session MCP configuration and `daemon.json` live; private to the daemon."""
        if self.runtime_dir is not None:
            return self.runtime_dir
        if given := first_set(os.environ, "RUNTIME_DIRECTORY"):
            return absolute_path(given.split(":")[0])
        if given := first_set(os.environ, "XDG_RUNTIME_DIR"):
            return absolute_path(Path(given) / "hive-subagent")
        return self.state_dir / "runtime"


# what `load` read from --config; a module variable since pydantic-settings builds sources per class
_FILE_VALUES: dict[str, Any] = {}

# an empty `setting_sources` is a value of claude's: no settings are read. As unset it would have
# claude read settings that the operator has excluded
_BLANKABLE = set(Settings.model_fields) - {"setting_sources"}


def load(config: Path | None = None, **command_line: Any) -> Settings:
    """Read the settings.

    Raises ConfigurationError with one line that names the key or file and what is wrong with it.
    """
    values = _read_file(config) if config else {}
    _FILE_VALUES.clear()
    _FILE_VALUES.update(values)
    given = {
        k: value for k, value in command_line.items() if value is not None and not is_blank(value)
    }
    try:
        settings = Settings(**given)
        _ = settings.runtime  # it is worked out from the environment
    except ValidationError as error:
        raise _complaint(error, given, values, config) from None
    except ValueError as error:  # pydantic-settings: an environment list that is not JSON
        raise ConfigurationError(f"environment {ENV_PREFIX}*: {error}") from None
    finally:
        _FILE_VALUES.clear()
    return settings


def _complaint(
    error: ValidationError,
    command_line: Mapping[str, Any],
    values: Mapping[str, Any],
    config: Path | None,
) -> ConfigurationError:
    """The first fault in one line, with the source that the value came from."""
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"]) or "settings"
    key = path.partition(".")[0]
    variable = f"{ENV_PREFIX}{key.upper()}"
    if first["type"] == "extra_forbidden":
        return ConfigurationError(
            f"setting {path!r} (in {config}) is unknown; correct its name or remove it", name=key
        )
    if key in command_line:
        where = f" (--{key})"
    elif first_set(os.environ, variable):
        where = f" ({variable})"
    else:
        where = f" (in {config})" if key in values else ""
    said = first["msg"].removeprefix("Value error, ")
    return ConfigurationError(f"setting {path}{where}: {said}", name=key)


def _read_file(config: Path) -> dict[str, Any]:
    try:
        values = json.loads(read_given(config))
    except OSError as error:
        raise ConfigurationError(
            f"--config {config}: {error.strerror}; name a readable file", path=config
        ) from None
    except ValueError as error:
        raise ConfigurationError(f"--config {config}: not JSON: {error}", path=config) from None
    if not isinstance(values, dict):
        raise ConfigurationError(f"--config {config}: must hold one JSON object", path=config)
    return {
        key: value for key, value in values.items() if not (key in _BLANKABLE and is_blank(value))
    }
