"""The rules of docs/agent-protocol.md, each with how to see whether an agent keeps it, for `colbench agents check`."""
