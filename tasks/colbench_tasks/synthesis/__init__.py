"""New tasks from a model: what it is asked, how its reply is read, and what is too like what is there.

Nothing here runs code or talks to anybody; the harness does (`colbench.synthesis`), through the entry point
`colbench.recipes`.
"""
