"""The rule-based human of tasks with structured facts: matches questions with facts and states the best one."""
