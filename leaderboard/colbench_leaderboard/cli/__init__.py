"""The leaderboard's commands of `colbench`: `submit`, `verify` and `leaderboard`."""
