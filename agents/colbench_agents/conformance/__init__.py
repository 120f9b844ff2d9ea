"""The rules of docs/agent-protocol.md, and the checks of these rules that `colbench agents check` runs."""
