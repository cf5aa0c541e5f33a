"""One tree of errors. Each message is one line that names the culprit and the mend."""


class SubagentError(Exception):
    """Base of every error this package raises on purpose; its text is fit for people and models."""


class Refused(SubagentError):
    """A call that cannot be carried out as asked; nothing was changed by it."""


class ConfigurationError(SubagentError):
    """The daemon cannot run with this configuration (exit code 2)."""


class PortTaken(SubagentError):
    """The listen address belongs to somebody else (exit code 3)."""
