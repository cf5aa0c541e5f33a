"""A scripted stand-in for `claude`, for tests and demonstrations."""
