"""What the CLI refuses before it starts, with its own words."""

from __future__ import annotations

import json
import os

from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.session import Refused

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.args import Options


def formats(options: Options) -> None:
    """The output and input formats, and how they go together."""
    for name, value, known in (
        ("--input-format <format>", options.input_format, ("text", "stream-json")),
        ("--output-format <format>", options.output_format, ("text", "json", "stream-json")),
    ):
        if value not in known:
            choices = ", ".join(known)
            raise Refused(
                f"error: option '{name}' argument '{value}' is invalid. "
                f"Allowed choices are {choices}."
            )
    if not options.print:
        raise Refused("Error: the stub speaks only -p (--print)")
    if options.output_format == "stream-json" and not options.verbose:
        raise Refused("Error: When using --print, --output-format=stream-json requires --verbose")
    if options.input_format == "stream-json" and options.output_format != "stream-json":
        raise Refused("Error: --input-format=stream-json requires output-format=stream-json.")
    if options.replay and options.input_format != "stream-json":
        raise Refused(
            "Error: --replay-user-messages requires both --input-format=stream-json and "
            "--output-format=stream-json."
        )


def root(options: Options, settings: Json) -> None:
    """Bypass as root only where the environment says that this is a sandbox."""
    rules = settings.get("permissions")
    default = rules.get("defaultMode") if isinstance(rules, dict) else None
    wanted = options.skip_permissions or (options.permission_mode or default) == "bypassPermissions"
    allowed = os.environ.get("IS_SANDBOX") == "1" or os.environ.get("CLAUDE_CODE_BUBBLEWRAP") == "1"
    if wanted and os.getuid() == 0 and not allowed:
        raise Refused(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges "
            "for security reasons"
        )


def brief(options: Options) -> str:
    """The appended system prompt, byte for byte."""
    if options.append_file is None:
        return options.append or ""
    if options.append is not None:
        raise Refused(
            "Error: Cannot use both --append-system-prompt and --append-system-prompt-file. "
            "Please use only one."
        )
    try:
        with open(options.append_file, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise Refused(
            f"Error: Append system prompt file not found: {options.append_file}"
        ) from None
    except OSError as error:
        raise Refused(f"Error reading append system prompt file: {error.strerror}") from None


def settings(options: Options, *, trusting: bool) -> Json:
    """The settings that hold: user, project and local files, then --settings.

    Hooks of all sources run; unknown keys and malformed hooks are ignored silently, as measured.
    `trusting`: a project's permissions count although nobody has trusted it (2.1.197).
    """
    merged: Json = {}
    hooks: dict[str, list[object]] = {}
    for value in [*_setting_files(options, trusting=trusting), _flag_settings(options)]:
        found = value.get("hooks")
        for event, matchers in found.items() if isinstance(found, dict) else ():
            if isinstance(matchers, list):
                hooks[str(event)] = hooks.get(str(event), []) + matchers
        merged |= value
    return {**merged, "hooks": hooks}


def _setting_files(options: Options, *, trusting: bool) -> list[Json]:
    given = options.setting_sources
    sources = ["user", "project", "local"] if given is None else given.split(",")
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    places = {
        "user": os.path.join(home, "settings.json"),
        "project": ".claude/settings.json",
        "local": ".claude/settings.local.json",
    }
    found = []
    for source in sources:
        value = _read(places.get(source.strip(), ""))
        if source.strip() != "user" and not trusting:
            value.pop("permissions", None)
        found.append(value)
    return found


def _read(path: str) -> Json:
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _flag_settings(options: Options) -> Json:
    given = options.settings
    if not given:
        return {}
    try:
        if given.lstrip().startswith("{"):
            value = json.loads(given)
        else:
            with open(given, encoding="utf-8") as file:
                value = json.load(file)
    except (OSError, ValueError):
        raise Refused(f"Error: Settings file not found: {given}") from None
    return value if isinstance(value, dict) else {}


def mcp_config(options: Options) -> Json:
    """--mcp-config: files and inline JSON, merged; the last one wins."""
    servers: Json = {}
    if not options.strict_mcp_config:
        # measured: a project's own file is connected without asking
        servers |= _read(".mcp.json").get("mcpServers") or {}
    for given in options.mcp_config:
        inline = given.lstrip().startswith("{")
        try:
            if inline:
                value = json.loads(given)
            else:
                with open(given, encoding="utf-8") as file:
                    value = json.load(file)
        except OSError:
            raise Refused(
                "Error: Invalid MCP configuration:\n"
                f"MCP config file not found: {os.path.abspath(given)}"
            ) from None
        except ValueError:
            where = "MCP config is not a valid JSON" if inline else f"{given}: not valid JSON"
            raise Refused(f"Error: Invalid MCP configuration:\n{where}") from None
        found = value.get("mcpServers") if isinstance(value, dict) else None
        if isinstance(found, dict):
            servers.update(found)
    return {"mcpServers": servers} if servers or options.mcp_config else {}
