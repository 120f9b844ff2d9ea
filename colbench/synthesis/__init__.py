"""New tasks from a model: the model writes them, the harness checks them, and rejections are kept with their reasons.

A recipe (`colbench.interfaces.Recipe`) makes the prompt and parses the replies; the domain vets the tasks
(`Domain.vet`). This package calls the model, lets an agent guess each task's answer, and writes the files.
"""
