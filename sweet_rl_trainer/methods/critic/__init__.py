"""The critic: what there is to know of one before an actor is trained with it."""
