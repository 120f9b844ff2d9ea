"""Command lines in the help of each command, ordered from the most to the least common use."""

from __future__ import annotations

LEADERBOARD = {
    "leaderboard": """
colbench leaderboard init board
colbench leaderboard accept board entry.tar.gz
colbench leaderboard build board --serve
""",
    "leaderboard init": """
colbench leaderboard init board
colbench leaderboard init board --signers keepers.pub
""",
    "leaderboard accept": """
colbench leaderboard accept board entry.tar.gz
colbench leaderboard accept board entry.tar.gz --verified entry.verified --key ~/.ssh/id_ed25519
colbench leaderboard accept board entry.tar.gz --refuse 'copies another entry'
""",
    "leaderboard keep": """
colbench leaderboard keep board 3f2a --reason 'the flagged replies were read'
colbench leaderboard keep board 3f2a --reason 'answered by mail' --key ~/.ssh/id_ed25519
""",
    "leaderboard remove": """
colbench leaderboard remove board 3f2a --reason 'asked for by its author'
colbench leaderboard remove board 3f2a --reason 'holds private data' --delete
""",
    "leaderboard rescore": """
colbench leaderboard rescore board --reason 'new scorer'
colbench leaderboard rescore board --reason 'new scorer' --only 3f2a
""",
    "leaderboard sign": """
colbench leaderboard sign board --key ~/.ssh/id_ed25519
colbench leaderboard sign board --key keeper_key
""",
    "leaderboard head": """
colbench leaderboard head board
colbench leaderboard head board --out head.txt
""",
    "leaderboard audit": """
colbench leaderboard audit board
colbench leaderboard audit board --verify --json
colbench leaderboard audit board --head head.txt --signers keepers.pub
""",
    "leaderboard build": """
colbench leaderboard build board --serve
colbench leaderboard build board --out site
""",
}
SUBMIT = {
    "submit": """
colbench submit pack runs/mine --interactive
colbench submit push runs/mine/bundle --to board
""",
    "submit pack": """
colbench submit pack runs/mine --interactive
colbench submit pack runs/mine --template about.toml
colbench submit pack runs/mine --meta about.toml --out entry.tar.gz
""",
    "submit push": """
colbench submit push entry.tar.gz --to board
colbench submit push entry.tar.gz --to https://example.org/board.git --yes
""",
}
VERIFY = {
    "verify": """
colbench verify entry.tar.gz
colbench verify entry.tar.gz --tasks official:backend/test --replay 0.1
colbench verify entry.tar.gz --against earlier.tar.gz --json
""",
}
