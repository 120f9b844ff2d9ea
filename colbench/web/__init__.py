"""Web pages of the report and the leaderboard: templates, formatting filters, assets and charts."""
