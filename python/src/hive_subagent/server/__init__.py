"""The HTTP surface: connections, guards, and the MCP servers of owner and subagents."""
