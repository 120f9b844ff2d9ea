"""The critic: its diagnosis before an actor is trained on its scores, and the training data of one that sees pages."""
