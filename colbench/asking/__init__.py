"""The agent's questions, the measures of these questions, and the decisions that the human revealed.

All of them are derived from a task and a dialogue on this task.
"""
