"""The keyless human for tasks without facts: reads the reference code and says it in words."""
