"""The statistics of a board. The task is the unit of every resampling and of every test; all is deterministic."""
