"""Agents that run in their own process: programs that speak the agent protocol, and Python agents in a host.

The protocol is told in docs/agent-protocol.md. `command` has the agent that is a program, `python` the agent that is a
Python object in its own process, `host` the program in which that object is.
"""
