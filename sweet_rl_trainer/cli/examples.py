"""Command lines shown in the help of each command, starting with the first one to try."""

from __future__ import annotations

EXAMPLES = {
    "": """
sweet-rl show                                     the shipped recipes
sweet-rl run smollm2-cpu --dry-run                the plan of a recipe
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
sweet-rl study --world finetuned --seeds 3
sweet-rl study --only sweet --only rft --out training/two-methods
""",
    "creditbench": """
sweet-rl creditbench --quick
sweet-rl creditbench --policy MODEL --critic sweet=CRITIC
""",
}
"""Examples by command, without the program's name; "" is the program itself."""
