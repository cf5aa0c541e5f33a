"""A supervisor for nested headless Claude Code sessions."""


def __getattr__(name: str) -> str:
    # looked up where it is asked for: that takes longer than all else a command line imports
    if name == "__version__":
        from importlib.metadata import version

        return version("hive-subagent")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
