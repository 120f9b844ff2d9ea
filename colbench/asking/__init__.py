"""Questions of an agent, the decisions revealed to it, and measures of both, derived from a task and a dialogue."""
