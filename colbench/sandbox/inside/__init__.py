"""Code of the processes that set up a sandbox, or run inside it.

It uses only the standard library. The harness imports only constants from it, and calls none of its functions.
"""
