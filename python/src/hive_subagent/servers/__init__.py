"""The MCP servers: the tools of the owner and the two signals of a subagent."""
