"""The operator API: what an owner can ask of the daemon by plain HTTP and JSON."""
