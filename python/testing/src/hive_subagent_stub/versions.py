"""What differs between the two measured versions of Claude Code, each difference once."""

from __future__ import annotations

DEFAULT = "2.1.332"
OLD = "2.1.197"


class Version:
    """The quirks of one version. Anything below 2.1.300 behaves as 2.1.197."""

    def __init__(self, name: str) -> None:
        self.name = name
        old = _numbers(name) < (2, 1, 300)
        self.old = old
        # 2.1.197 forgets an appended prompt at resume; 2.1.332 keeps the first and ignores others
        self.freezes_brief = not old
        # by id from another directory: 2.1.332 appends to the file where it lies
        self.resumes_by_id_anywhere = not old
        self.announces_title = not old
        self.lifecycle_lines = not old
        self.sums_cost_over_resume = not old
        self.api_error_reason = "completed" if old else "api_error"
        # SIGTERM leaves the running tool of 2.1.197 behind
        self.kills_tool_on_sigterm = not old
        self.rc_after_sigint_in_tool = 1 if old else 0
        # a signal between the spawn and init
        self.handles_signals_before_init = not old
        # 2.1.197 exits without draining a pipe
        self.drains_at_exit = not old
        # how long a running background task holds the exit, and whether its kill opens a turn
        self.background_grace_s = 5.0 if old else 600.0
        self.kill_opens_turn = not old
        # an interrupt in the same breath as its message: lost from the second turn on
        self.loses_early_interrupt = not old
        self.refuses_long_sleep = not old
        self.cuts_mcp_for_now = not old
        self.model = "claude-opus-4-8[1m]" if old else "claude-opus-5-5"
        self.aliases = (
            {"opus": "claude-opus-4-8", "sonnet": "claude-sonnet-5", "haiku": "claude-haiku-4-5"}
            if old
            else {
                "opus": "claude-opus-5-5",
                "sonnet": "claude-sonnet-5-5",
                "haiku": "claude-haiku-5",
            }
        )
        self.trusts_projects = old  # permissions of a project's settings
        self.usd_per_request = 0.001 if old else 0.0008

    @property
    def agent(self) -> str:
        """The value of AI_AGENT in the environment of tools."""
        return f"claude-code_{self.name.replace('.', '-')}_agent"


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".") if part.isdigit())
