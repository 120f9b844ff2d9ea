"""Agents that run in their own process: programs that speak the agent protocol, and Python agents in a host.

docs/agent-protocol.md describes the protocol. `command` contains the agent that is a program, `python` the agent that
is a Python object in a separate process, and `host` the program that runs this object.
"""
