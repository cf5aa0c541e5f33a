"""Notices that are owed, their delivery and the sinks; what is owed survives a crash."""
