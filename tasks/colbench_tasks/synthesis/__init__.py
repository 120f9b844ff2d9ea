"""New tasks from a model: its prompt, the parser of its reply, and the detection of near-duplicates.

This package neither runs code nor sends requests; the harness does (`colbench.synthesis`), through the entry point
`colbench.recipes`.
"""
