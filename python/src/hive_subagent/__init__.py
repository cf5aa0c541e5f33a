"""A supervisor for nested headless Claude Code sessions."""

from importlib.metadata import version

__version__ = version("hive-subagent")
