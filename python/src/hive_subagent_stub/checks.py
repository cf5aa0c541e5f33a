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


def settings(options: Options) -> Json:
    """--settings: inline JSON or a file. Unknown keys are ignored silently, as measured."""
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
    return {"mcpServers": servers} if options.mcp_config else {}
