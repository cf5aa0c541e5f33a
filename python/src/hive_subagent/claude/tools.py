"""Claude's built-in tools by pinned version, and what each of them is worth in a headless run.

Every tool that `init.tools` can list is here, or `make e2e` fails: a new tool may reach what a run
must not reach. The names are those of `--tools` and `--disallowedTools`; `init` says `Task` for
`Agent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Use(StrEnum):
    """What a tool does where nobody sits at the terminal."""

    HEADLESS = "headless"
    """Its result is its effect."""
    BACKGROUND = "background"
    """What it starts can go on after the turn's result."""
    OTHER_SESSIONS = "other_sessions"
    """It reads of or writes into sessions that are not the run's own."""
    NEEDS_PERSON = "needs_person"
    """It waits for somebody at the terminal."""
    NEVER_FIRES = "never_fires"
    """It promises something that happens only in a process that is kept for it."""


@dataclass(frozen=True)
class Tool:
    """How one tool is classified, and why."""

    use: Use
    reason: str


_COMMON: Mapping[str, Tool] = {
    "Agent": Tool(Use.BACKGROUND, "run_in_background; the default since about 2.1.270"),
    "AskUserQuestion": Tool(Use.NEEDS_PERSON, "offered with --permission-prompt-tool"),
    "Bash": Tool(Use.BACKGROUND, "run_in_background"),
    "CronCreate": Tool(Use.NEVER_FIRES, "its jobs live as long as the process, a run's one turn"),
    "CronDelete": Tool(Use.NEVER_FIRES, "manages the jobs of CronCreate"),
    "CronList": Tool(Use.NEVER_FIRES, "manages the jobs of CronCreate"),
    "DesignSync": Tool(
        Use.HEADLESS,
        "reads and writes the account's design projects at claude.ai; offered unless"
        " CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC is set",
    ),
    "Edit": Tool(Use.HEADLESS, "writes a file"),
    "EnterPlanMode": Tool(Use.NEEDS_PERSON, "offered with --permission-prompt-tool"),
    "EnterWorktree": Tool(Use.HEADLESS, "moves the session into a git worktree"),
    "ExitPlanMode": Tool(Use.NEEDS_PERSON, "offered with --permission-prompt-tool"),
    "ExitWorktree": Tool(Use.HEADLESS, "leaves the git worktree"),
    "Glob": Tool(Use.HEADLESS, "reads file names; offered where Bash is not, or by --tools"),
    "Grep": Tool(Use.HEADLESS, "reads files; offered where Bash is not, or by --tools"),
    "ListMcpResourcesTool": Tool(Use.HEADLESS, "offered where an MCP server has resources"),
    "NotebookEdit": Tool(Use.HEADLESS, "writes a file"),
    "Read": Tool(Use.HEADLESS, "reads a file"),
    "ReadMcpResourceDirTool": Tool(Use.HEADLESS, "offered where an MCP server has resources"),
    "ReadMcpResourceTool": Tool(Use.HEADLESS, "offered where an MCP server has resources"),
    "ReportFindings": Tool(Use.HEADLESS, "prints findings for a user interface"),
    "ScheduleWakeup": Tool(Use.NEVER_FIRES, "the wakeup is lost when the process ends"),
    "Skill": Tool(Use.BACKGROUND, "loads instructions; a skill may run as a background agent"),
    "StructuredOutput": Tool(Use.HEADLESS, "offered with --json-schema"),
    "TaskStop": Tool(Use.HEADLESS, "ends a background task of the run's own"),
    "WebFetch": Tool(Use.HEADLESS, "reads a page"),
    "WebSearch": Tool(Use.HEADLESS, "asks a search engine"),
    "Workflow": Tool(Use.BACKGROUND, "always returns before its agents are done"),
    "Write": Tool(Use.HEADLESS, "writes a file"),
}

_TODO_LIST = Tool(Use.HEADLESS, "the session's own list of what is to be done")

INVENTORY: Mapping[str, Mapping[str, Tool]] = {
    "2.1.197": {
        **_COMMON,
        "SendMessage": Tool(Use.OTHER_SESSIONS, "here only to agents and teammates by their names"),
        "TaskCreate": _TODO_LIST,
        "TaskGet": _TODO_LIST,
        "TaskList": _TODO_LIST,
        "TaskOutput": Tool(Use.HEADLESS, "reads what a background task printed"),
        "TaskUpdate": _TODO_LIST,
    },
    "2.1.332": {
        **_COMMON,
        "ListAgents": Tool(Use.OTHER_SESSIONS, "names every session with the same config folder"),
        "Monitor": Tool(Use.BACKGROUND, "watches a command and reports each line"),
        "SendMessage": Tool(Use.OTHER_SESSIONS, "writes into any session that ListAgents names"),
        "TaskCreate": _TODO_LIST,
        "ToolSearch": Tool(Use.HEADLESS, "loads the definitions of deferred tools"),
    },
}
"""By version. Measured in each permission mode, with `--tools`, `--json-schema`, an MCP server that
has resources, and `--permission-prompt-tool`."""

_NEVER_OF_USE = frozenset({Use.OTHER_SESSIONS, Use.NEVER_FIRES})

ALWAYS_DENIED: tuple[str, ...] = tuple(
    sorted(
        {
            name
            for tools in INVENTORY.values()
            for name, tool in tools.items()
            if tool.use in _NEVER_OF_USE
        }
    )
)
"""Tools that no run has, whatever its permission is.

A name that a version does not know is ignored by it (2.1.197 and 2.1.332).
"""
