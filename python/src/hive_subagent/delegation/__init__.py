"""Several children at once, each with a role, none with more permission than their parent."""
