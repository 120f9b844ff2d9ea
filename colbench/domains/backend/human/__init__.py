"""The keyless human for tasks without facts: paraphrases the reference code."""
