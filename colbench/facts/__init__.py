"""The rule-based human of tasks with structured facts: it matches questions with facts and states the best fact."""
