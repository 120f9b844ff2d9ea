"""An agent's questions, their measures, and the decisions that the human revealed; derived from task and dialogue."""
