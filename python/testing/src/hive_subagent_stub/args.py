"""The command line: the options of the CLI that matter, in both spellings of a value."""

from __future__ import annotations

_FLAGS = {
    "-p": "print",
    "--print": "print",
    "--verbose": "verbose",
    "--strict-mcp-config": "strict_mcp_config",
    "--dangerously-skip-permissions": "skip_permissions",
    "--replay-user-messages": "replay",
    "--include-hook-events": "hook_events",
    "--include-partial-messages": "partial",
    "--fork-session": "fork",
    "--no-session-persistence": "no_persistence",
    "--continue": "resume_latest",
    "-c": "resume_latest",
    "--version": "show_version",
    "-v": "show_version",
    "--bare": "bare",
    "--safe-mode": "bare",
    "--disable-slash-commands": "ignored",
}
_VALUES = {
    "--input-format": "input_format",
    "--output-format": "output_format",
    "--session-id": "session_id",
    "--name": "name",
    "-n": "name",
    "--append-system-prompt-file": "append_file",
    "--append-system-prompt": "append",
    "--system-prompt": "ignored",
    "--system-prompt-file": "ignored",
    "--settings": "settings",
    "--setting-sources": "setting_sources",
    "--model": "model",
    "--fallback-model": "ignored",
    "--permission-mode": "permission_mode",
    "--permission-prompt-tool": "permission_tool",
    "--max-turns": "max_turns",
    "--max-budget-usd": "max_budget",
    "--max-thinking-tokens": "ignored",
    "--system-prompt-snapshot": "snapshot",
    "--effort": "effort",
    "--agents": "ignored",
    "--agent": "ignored",
    "--debug-file": "ignored",
}
# a value is optional: a word that is not an option
_OPTIONAL = {"--resume": "resume", "-r": "resume"}
_VARIADIC = {
    "--mcp-config": "mcp_config",
    "--allowedTools": "allowed_tools",
    "--allowed-tools": "allowed_tools",
    "--disallowedTools": "disallowed_tools",
    "--disallowed-tools": "disallowed_tools",
    "--tools": "tools",
    "--add-dir": "add_dir",
}


class BadArguments(Exception):
    """The CLI would refuse this command line; the message is its line on stderr."""


class Options:
    """One parsed command line. Absent values are None, absent lists empty."""

    def __init__(self) -> None:
        self.print = self.verbose = self.strict_mcp_config = self.skip_permissions = False
        self.replay = self.hook_events = self.partial = self.fork = self.no_persistence = False
        self.resume_latest = self.show_version = self.bare = False
        self.input_format = self.output_format = "text"
        self.session_id: str | None = None
        self.resume: str | None = None
        self.name: str | None = None
        self.append_file: str | None = None
        self.append: str | None = None
        self.settings: str | None = None
        self.setting_sources: str | None = None
        self.model: str | None = None
        self.permission_mode: str | None = None
        self.permission_tool: str | None = None
        self.max_turns: str | None = None
        self.max_budget: str | None = None
        self.snapshot: str | None = None
        self.effort: str | None = None
        self.mcp_config: list[str] = []
        self.allowed_tools: list[str] = []
        self.disallowed_tools: list[str] = []
        self.tools: list[str] | None = None
        self.add_dir: list[str] = []
        self.prompt: str | None = None


def parse(argv: list[str]) -> Options:
    """Read `argv` (without the program's name); BadArguments where the CLI would refuse it."""
    options = Options()
    words = list(argv)
    positional: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            positional += words
            break
        if not word.startswith("-") or word == "-":
            positional.append(word)
            continue
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            name, equals, value = word, "", ""
        _take(options, name, value if equals else None, words)
    if positional:
        options.prompt = positional[0]
    return options


def _take(options: Options, name: str, value: str | None, words: list[str]) -> None:
    if name in _FLAGS:
        setattr(options, _FLAGS[name], True)
    elif name in _VALUES:
        if value is None:
            if not words:
                raise BadArguments(f"error: option '{name} <value>' argument missing")
            value = words.pop(0)
        setattr(options, _VALUES[name], value)
    elif name in _OPTIONAL:
        if value is None and words and not words[0].startswith("-"):
            value = words.pop(0)
        setattr(options, _OPTIONAL[name], value if value is not None else "")
    elif name in _VARIADIC:
        values = [value] if value is not None else []
        while words and not words[0].startswith("-"):
            values.append(words.pop(0))
        setattr(options, _VARIADIC[name], (getattr(options, _VARIADIC[name]) or []) + values)
    else:
        raise BadArguments(f"error: unknown option '{name}'")
