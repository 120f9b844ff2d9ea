"""The keyless human for tasks without facts, who paraphrases the reference code."""
