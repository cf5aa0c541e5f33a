"""The real Claude Code binary, driven offline through the real daemon (`make e2e`)."""
