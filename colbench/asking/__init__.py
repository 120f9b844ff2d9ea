"""An agent's questions and the decisions that the human revealed, with measures, derived from a task and a dialogue."""
