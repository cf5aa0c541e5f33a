"""Which tools the model may use, by mode, lists and the supervisor's answer."""

from __future__ import annotations

from hive_subagent_stub import catalogue
from hive_subagent_stub._types import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.args import Options

# commands that plan and default mode were seen to run without asking
_READ_ONLY = frozenset(
    {
        "ls",
        "cat",
        "pwd",
        "echo",
        "head",
        "tail",
        "wc",
        "id",
        "true",
        "false",
        "grep",
        "find",
        "date",
        "whoami",
    }
)
_SAFE_TOOLS = frozenset(
    {"Read", "Grep", "Glob", "Task", "Agent", "TodoWrite", "ToolSearch", "Skill"}
)
_EDITS = frozenset({"Write", "Edit", "NotebookEdit"})


class Denial(Exception):
    """The tool is not run; `text` is the error result the model reads."""

    def __init__(self, text: str, kind: str, *, listed: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.kind = kind
        self.listed = listed  # whether permission_denials names it


class Permissions:
    """The mode and the lists of one process."""

    def __init__(self, options: Options, settings: Json, *, old: bool) -> None:
        self.old = old
        rules = settings.get("permissions") or {}
        default = rules.get("defaultMode") if isinstance(rules, dict) else None
        # measured: the bypass flag beats every other mode
        self.mode = (
            "bypassPermissions"
            if options.skip_permissions
            else options.permission_mode or default or "default"
        )
        allow = rules.get("allow", []) if isinstance(rules, dict) else []
        self._allowed = _split(options.allowed_tools) + [str(rule) for rule in allow]
        self._disallowed = _split(options.disallowed_tools)
        self._only = None if options.tools is None else _split(options.tools)

    def visible(self, mcp_tools: list[str]) -> list[str]:
        """`tools` of init."""
        base = catalogue.OLD_TOOLS if self.old else catalogue.TOOLS
        if self._only is not None and self._only != ["default"]:
            base = self._only
        return [tool for tool in base + mcp_tools if tool not in self._disallowed]

    def check(self, tool: str, given: Json) -> bool:
        """Whether the tool runs (True) or somebody must be asked (False).

        Raises Denial for a tool that is not there or that the mode forbids.
        """
        is_mcp = tool.startswith("mcp__")
        gone = _matches(tool, given, self._disallowed)
        if gone or (not is_mcp and self._only is not None and tool not in self._only):
            raise Denial(
                f"<tool_use_error>Error: No such tool available: {tool}. {tool} is disabled for "
                "this session, in subagents as well as here.</tool_use_error>",
                "",
                listed=False,
            )
        if self.mode == "bypassPermissions" or _matches(tool, given, self._allowed):
            return True
        if tool in _SAFE_TOOLS:
            return True
        if tool == "Bash" and _read_only(str(given.get("command", ""))):
            return True
        if self.mode == "acceptEdits" and tool in _EDITS:
            return True
        if self.mode == "plan":
            if tool in _EDITS:
                path = given.get("file_path", "the file")
                raise Denial(f"Cannot write to {path} while in plan mode.", "user-rejected")
            raise Denial(
                "Auto mode is unavailable: its safety check does not run for this session, so "
                f"{tool} was not run.",
                "automode-unavailable",
            )
        if self.mode == "dontAsk":
            raise Denial(f"Permission to use {tool} has been denied.", "permission-rule")
        return False


def _read_only(command: str) -> bool:
    words = command.split()
    return bool(words) and words[0] in _READ_ONLY and not set(command) & set(";&|><`$\n")


def _split(values: list[str]) -> list[str]:
    """Rules are parted by commas or blanks, but not within `Bash(git *)`."""
    rules, depth = [""], 0
    for letter in " ".join(values):
        depth += (letter == "(") - (letter == ")")
        if letter in ", " and not depth:
            rules.append("")
        else:
            rules[-1] += letter
    return [rule for rule in rules if rule]


def _matches(tool: str, given: Json, rules: list[str]) -> bool:
    """A rule names a tool, every tool of a server (`mcp__boss`), or commands (`Bash(git *)`)."""
    for rule in rules:
        name, _, pattern = rule.partition("(")
        start = pattern.removesuffix(")").removesuffix("*").rstrip(": ")
        if tool == name and str(given.get("command", "")).startswith(start):
            return True
        server = name.removesuffix("*").rstrip("_")
        if server.startswith("mcp__") and tool.startswith(f"{server}__"):
            return True
    return False
