"""New tasks from a model: the model writes, the harness checks, and rejections are kept with their reasons.

A recipe (`colbench.interfaces.Recipe`) has the prompt and parses replies, the domain vets tasks (`Domain.vet`); this
package calls the model, guesses and keeps the files.
"""
