"""Code of the processes that set up a sandbox, or run inside it.

This code uses only the standard library. The harness imports only constants from this package, and calls none of its
functions.
"""
