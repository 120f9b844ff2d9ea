"""New tasks from a model: its prompt, the parser of its reply, and the detection of near-duplicates.

This package neither runs code nor sends requests; `colbench.synthesis` does both. The command
`colbench tasks synthesize` finds the recipe in the entry-point group `colbench.recipes`.
"""
