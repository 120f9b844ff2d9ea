"""Example command lines for the help of each command; the first example is the one to try first."""

from __future__ import annotations

EXAMPLES = {
    "": """
colbench eval                                       the built-in agent on the bundled tasks
colbench eval --agent openai:gpt-4o --limit 50      a model, on 50 tasks
colbench eval --agent my_agent.py:MyAgent           your own agent
colbench compare runs/a runs/b                      two runs on the same tasks
colbench COMMAND --help                             all flags of a command, with examples
""",
    "eval": """
colbench eval --agent interviewer --limit 50
colbench eval --agent openai:gpt-4o --trials 3 --out runs/gpt-4o
colbench eval --agent openai:my-model@http://localhost:8000/v1 --tasks official:backend/test
colbench eval --agent my_agent.py:MyAgent --agent-arg temperature=0.2
""",
    "sweep": """
colbench sweep models.toml --dry-run
colbench sweep models.toml --out runs/models
""",
    "merge": """
colbench merge shards/1 shards/2 --out runs/all
colbench merge shards/1 shards/2 --out runs/all --force
""",
    "play": """
colbench play
colbench play --as human --agent openai:gpt-4o
colbench play --domain frontend --task-ids page-test-0001
""",
    "score": """
colbench score runs/mine
colbench score runs/mine --scoring official
colbench score runs/mine --clip-weights weights.pt
""",
    "report": """
colbench report runs/mine
colbench report runs/mine --json
colbench report runs/mine --push-to-hub me/my-dialogues --private
""",
    "compare": """
colbench compare runs/a runs/b
colbench compare runs/a runs/b runs/c --json
colbench compare runs/a runs/b --html comparison.html
""",
    "repair": """
colbench repair runs/mine
colbench repair runs/mine --json
""",
    "view": """
colbench view runs/mine --open
colbench view runs/mine --failed guessed
colbench view runs/mine --task parking-test-0001
colbench view runs/a runs/b --export pages
""",
    "export": """
colbench export runs/mine --format every-eval-ever --out results
colbench export runs/a runs/b --format every-eval-ever --model meta-llama/Llama-3.1-8B-Instruct --out results
colbench export runs/mine --format hf-eval-results --dataset me/colbench --out my-model/.eval_results
""",
    "render": """
colbench render page.html
colbench render page.html --out picture.png --mode official
""",
    "completion": """
colbench completion bash > ~/.local/share/bash-completion/completions/colbench
colbench completion zsh > ~/.zfunc/_colbench
colbench completion fish > ~/.config/fish/completions/colbench.fish
""",
    "doctor": """
colbench doctor
colbench doctor --attack code
colbench doctor --attack pages --browser /usr/bin/chromium
colbench doctor --serve-faults 8000
""",
    "tasks": """
colbench tasks list bundled:backend
colbench tasks show parking-test-0001
colbench tasks validate my-tasks.jsonl
""",
    "tasks list": """
colbench tasks list
colbench tasks list official:backend/test --json
colbench tasks list my-tasks.jsonl
""",
    "tasks show": """
colbench tasks show parking-test-0001
colbench tasks show my-task-7 my-tasks.jsonl --json
""",
    "tasks validate": """
colbench tasks validate my-tasks.jsonl
colbench tasks validate my-tasks.jsonl --exclude good-tasks.jsonl
colbench tasks validate bundled:backend --limit 20 --json
""",
    "tasks synthesize": """
colbench tasks synthesize --model openai:gpt-4o --source seeds.jsonl --out tasks.jsonl --limit 20
colbench tasks synthesize --model openai:gpt-4o --source seeds.jsonl --out tasks.jsonl --guess guesser
""",
    "tasks export": """
colbench tasks export bundled:backend --out tasks.parquet
colbench tasks export bundled:backend --out tasks.jsonl --format official
colbench tasks export my-tasks.jsonl --push-to-hub me/my-tasks --private
""",
    "tasks datasheet": """
colbench tasks datasheet bundled:backend --sample 100
colbench tasks datasheet my-tasks.jsonl --license CC-BY-4.0 --origin 'written by hand' --out sheet.md
""",
    "tasks card": """
colbench tasks card bundled:backend bundled:frontend --repository me/colbench --out card
""",
    "agents": """
colbench agents list
colbench agents show openai
colbench agents new my-agent --kind python
colbench agents check my_agent.py:MyAgent
""",
    "agents list": """
colbench agents list
colbench agents list --json
""",
    "agents show": """
colbench agents show openai
colbench agents show my_agent.py:MyAgent
""",
    "agents check": """
colbench agents check interviewer
colbench agents check my_agent.py:MyAgent --timeout 60
colbench agents check 'cmd:python3 agent.py' --json
""",
    "agents new": """
colbench agents new my-agent --kind python
colbench agents new my-agent --kind http --to ~/agents/mine
""",
}
"""Examples by command. The commands are without the program's name; "" stands for the program itself."""
