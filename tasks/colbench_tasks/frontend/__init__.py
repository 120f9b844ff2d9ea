"""Frontend tasks: pages composed of sections, with design decisions drawn from a seed."""
