"""A parent's hand on a running subagent: stop it, redirect it, tell it something."""
