"""New tasks from a model: the model's prompt, the parser of the model's reply, and the detection of near-duplicates.

This package neither runs code nor sends requests; `colbench.synthesis` does both. The command
`colbench tasks synthesize` finds the recipe in the entry-point group `colbench.recipes`.
"""
