"""The store of a leaderboard: verified bundles, and an append-only log of every decision about them."""
