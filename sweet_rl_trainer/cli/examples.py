"""Command lines that the help of each command shows, from the first one to try to the less usual."""

from __future__ import annotations

EXAMPLES = {
    "": """
sweet-rl show                                     the shipped recipes
sweet-rl run smollm2-cpu --dry-run                the plan of one
sweet-rl run smollm2-cpu --model Qwen/Qwen3-4B    train a model
""",
    "run": """
sweet-rl run smollm2-cpu --dry-run
sweet-rl run smollm2-cpu --model Qwen/Qwen3-4B --runs runs/a runs/b
sweet-rl run smollm2-cpu --until critic --set critic.train.beta=0.2
sweet-rl run my-recipe.toml --iterations 3 --out training/mine
""",
    "show": """
sweet-rl show
sweet-rl show smollm2-cpu > my-recipe.toml
""",
    "study": """
sweet-rl study --quick
sweet-rl study --scale gpu --seeds 5
sweet-rl study --only sweet --only rft --out training/two-methods
""",
}
"""By command, without the program's name; "" is the program itself."""
