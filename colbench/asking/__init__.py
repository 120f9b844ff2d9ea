"""Questions of an agent, the decisions it was told, and measures of both, derived from a task and a dialogue."""
