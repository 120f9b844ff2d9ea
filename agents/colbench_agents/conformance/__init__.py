"""The rules of docs/agent-protocol.md, each with a check of an agent, for `colbench agents check`."""
