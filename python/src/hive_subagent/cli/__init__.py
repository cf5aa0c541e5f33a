"""`hive-subagent`: the operator's command line and the MCP bridge; clients of a running daemon."""
