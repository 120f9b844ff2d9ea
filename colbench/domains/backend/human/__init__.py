"""The rule-based human for tasks without facts, who paraphrases the reference code."""
