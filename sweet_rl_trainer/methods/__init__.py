"""The training methods, one file each."""
