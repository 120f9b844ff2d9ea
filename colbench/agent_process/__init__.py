"""Agents that run in a process of their own: programs that speak the agent protocol, and Python agents in a host.

The protocol is told in docs/agent-protocol.md. `command` has the agent that is a program, `python` the agent that is a
Python object in a process of its own, `host` the program in which that object is.
"""
