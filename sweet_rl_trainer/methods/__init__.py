"""The training methods, one file each, and packages with their parts."""
