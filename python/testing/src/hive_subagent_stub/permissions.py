"""Which tools the model may use, by mode, lists and the supervisor's answer."""

from __future__ import annotations

from fnmatch import fnmatchcase

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

    def __init__(self, text: str, kind: str, *, listed: bool = True, by_mode: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.kind = kind
        self.listed = listed  # whether permission_denials names it
        self.by_mode = by_mode


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
            base = ["Task" if tool == "Agent" else tool for tool in self._only]
        elif "Bash" in self._disallowed:
            # measured: they take the place of the shell's own
            base = [tool for tool in base if tool != "Monitor"] + ["Glob", "Grep"]
        gone = [rule for rule in self._disallowed if "(" not in rule]
        return [tool for tool in base + mcp_tools if not _matches(tool, {}, gone)]

    def _why_gone(self, tool: str) -> str:
        if not self.old:
            return f". {tool} is disabled for this session, in subagents as well as here."
        if tool in catalogue.OLD_TOOLS or tool == "Agent":
            return (
                f". {tool} exists but is not enabled in this context. Use one of the available "
                "tools instead."
            )
        return ""

    def check(self, tool: str, given: Json) -> bool:
        """Whether the tool runs (True) or somebody must be asked (False).

        Raises Denial for a tool that is not there or that the mode forbids.
        """
        is_mcp = tool.startswith("mcp__")
        gone = _matches(tool, given, self._disallowed)
        if gone or (not is_mcp and self._only is not None and tool not in self._only):
            raise Denial(
                f"<tool_use_error>Error: No such tool available: {tool}{self._why_gone(tool)}"
                "</tool_use_error>",
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
                text = f"Cannot write to {path} while in plan mode."
                raise Denial(text, "user-rejected", by_mode=True)
            raise Denial(
                "Auto mode is unavailable: its safety check does not run for this session, so "
                f"{tool} was not run.",
                "automode-unavailable",
                by_mode=True,
            )
        if self.mode == "dontAsk":
            text = f"Permission to use {tool} has been denied."
            raise Denial(text, "permission-rule", by_mode=True)
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
    """Whether a rule holds for this call.

    A rule names a tool, several (`Cron*`), every tool of a server (`mcp__boss`), or commands
    (`Bash(git *)`). `init` calls the tool Agent by its old name.
    """
    tool = "Agent" if tool == "Task" else tool
    for rule in rules:
        name, _, pattern = rule.partition("(")
        name = "Agent" if name == "Task" else name
        start = pattern.removesuffix(")").removesuffix("*").rstrip(": ")
        if fnmatchcase(tool, name) and str(given.get("command", "")).startswith(start):
            return True
        server = name.removesuffix("*").rstrip("_")
        if server.startswith("mcp__") and tool.startswith(f"{server}__"):
            return True
    return False


def unasked(tool: str, given: Json, cwd: str, *, old: bool) -> Denial:
    """The denial of a tool that needs asking where nobody can be asked."""
    if tool == "Bash":
        word = str(given.get("command", "")).split(maxsplit=1)[:1] or ["Bash"]
        text = (
            f"{word[0]} was blocked. For security, Claude Code may only create or modify files in "
            f"the allowed working directories for this session: '{cwd}'."
            if old
            else f"{word[0]} needs approval. Claude Code asks before a shell command creates, "
            "changes or removes files there."
        )
    elif tool in _EDITS:
        path = given.get("file_path", "the file")
        text = f"Claude requested permissions to write to {path}, but you haven't granted it yet."
    else:
        text = f"Claude requested permissions to use {tool}, but you haven't granted it yet."
    return Denial(text, "user-rejected", by_mode=True)


def refused_sleep(command: str) -> str | None:
    """What 2.1.332 calls a command that begins with a long sleep; None for any other.

    Measured: 24 s run and 25 s do not, whatever follows; `1m`, `(sleep 60)`, `exec sleep 60` and a
    sleep further on run.
    """
    words = command.replace(";", " ; ").replace("&", " & ").replace("|", " | ").split(maxsplit=2)
    if len(words) < 2 or words[0] != "sleep":
        return None
    try:
        if float(words[1]) < 25:
            return None
    except ValueError:
        return None
    rest = words[2].lstrip("&|; ") if len(words) > 2 else ""
    if not rest or rest.startswith((">", "<")):
        return f"standalone sleep {words[1]}"
    return f"sleep {words[1]} followed by: {rest}"
