"""New tasks from a model: it writes, the harness checks, and rejections are kept with their reasons.

A recipe (`colbench.interfaces.Recipe`) holds the prompt and reads replies, the domain vets tasks (`Domain.vet`); this
package calls the model, guesses and keeps the files.
"""
