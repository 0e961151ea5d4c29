"""The MCP server: the tools with which an agent remembers, recalls and rates, over stdio and HTTP."""
