"""New tasks from a model: it writes, the harness checks, and what fails is kept with the reason.

What the model is asked and how its reply is read is a recipe's affair (`colbench.interfaces.Recipe`); here are the
calls to the model, the runs in the sandbox, the guesses and the files.
"""
