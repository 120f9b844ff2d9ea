"""Agents that run in their own process: programs that speak the agent protocol, and Python agents in a host.

docs/agent-protocol.md describes the protocol. The module `command` contains the agent that is a program. The module
`python` contains the agent that is a Python object in a separate process. The module `host` is the program of this
separate process.
"""
