"""The keyless human of tasks with structured facts: matches questions with facts and states the best one."""
