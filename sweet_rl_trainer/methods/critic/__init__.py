"""Two parts for critics: the diagnosis before an actor is trained, and the examples for a critic that sees pages."""
