"""New tasks from a model: its prompt, the parser of its reply, and the detection of near-duplicates.

Nothing here runs code or talks to anybody; the harness does (`colbench.synthesis`), through the entry point
`colbench.recipes`.
"""
