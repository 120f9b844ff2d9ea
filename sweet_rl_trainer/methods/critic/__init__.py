"""The critic: diagnosis before an actor is trained on its scores, and examples for a critic that sees pages."""
