"""Notices and their sinks; what is owed survives a crash."""
