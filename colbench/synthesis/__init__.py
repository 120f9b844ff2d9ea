"""New tasks from a model: the model writes them, the harness checks them, and rejections are kept with their reasons.

A recipe (`colbench.interfaces.Recipe`) has the prompt and parses replies, and the domain vets tasks (`Domain.vet`).
This package calls the model, lets an agent guess, and writes the files.
"""
