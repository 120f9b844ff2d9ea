"""The training: the loss, the collation, the cache of the reference model's values, the trainer and its callbacks."""
