"""Parts of web pages that reports, comparisons, the viewer and the leaderboard use.

They are templates, formatting filters, assets and charts.
"""
