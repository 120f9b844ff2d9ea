"""The judges of answers: hidden unit tests for functions, likeness to the hidden design for pages."""
