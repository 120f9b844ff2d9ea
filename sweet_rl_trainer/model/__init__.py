"""The model: loading, adapters, attention over packed rows, log-probabilities, generation, export."""
