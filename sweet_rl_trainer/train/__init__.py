"""The training: loss, collation, the cache of the reference model, the trainer and its callbacks."""
