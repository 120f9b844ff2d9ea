"""Write docs/configuration.md from the fields of RunConfig: `python docs/make_configuration.py`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from colbench.config import EXECUTION_ARGS, settings
from colbench.flags import OTHER_VARIABLES
from colbench.options import Setting

PAGE = Path(__file__).with_name("configuration.md")
INTRODUCTION = """\
# Configuration
<!-- Made by docs/make_configuration.py from colbench/config.py; change the text there. -->

Every setting of a run is a field of `RunConfig`. It can be given in four places; the first that has it counts:

1. a flag of the command line, `--max-turns 5`
2. an environment variable, `COLBENCH_MAX_TURNS=5`
3. the file that `--config FILE` names: `max_turns = 5` in TOML, or `{"max_turns": 5}` in a file `*.json`
4. the default

`colbench.evaluate(max_turns=5)` takes the same names. Lists are written with commas in flags and variables
(`--task-ids a,b`) and as lists in files. Arguments of the agent and the human are tables in files; as flags they are
given one at a time (`--agent-arg temperature=0.7 --agent-arg seed=1`), in variables with spaces between
(`COLBENCH_AGENT_ARGS="temperature=0.7 seed=1"`); those of a later place are added to those of an earlier one.

```toml
agent = "openai:my-model@http://localhost:8000/v1"
trials = 3
agent_price = [0.15, 0.60]
[agent_args]
temperature = 0.7
```

Unknown keys and flags are errors. So is an environment variable that is nearly the name of a known one, such as
`COLBENCH_AGNET`; other variables that begin with `COLBENCH_` are ignored.

**Pinned** settings can change a number: a run is resumed only if they are unchanged. Prompt files are pinned by their
content. Not pinned are the address of a model server and these arguments of agents and humans: {unpinned}.
Settings marked *selects* say which dialogues a run has; change them to extend a run. The others may change at any time.
"""
PINNED = {"pinned": "yes", "selection": "selects", "execution": "no"}
OTHERS = """
## Other environment variables
| Variable | Meaning |
|---|---|
"""


def page() -> str:
    """Return the page."""
    sections = groupby(settings().values(), key=lambda setting: setting.group)
    tables = "".join(f"\n## {group.title()}\n{_table(found)}" for group, found in sections)
    rows = "".join(f"| `{name}` | {_cell(text)} |\n" for name, text in OTHER_VARIABLES.items())
    introduction = INTRODUCTION.replace(
        "{unpinned}", ", ".join(f"`{a}`" for a in sorted(EXECUTION_ARGS))
    )
    return f"{introduction}{tables}{OTHERS}{rows}"


def _table(found: Iterator[Setting]) -> str:
    rows = "".join(
        f"| `{each.name}` | `{_usage(each)}` | `{each.variable}` | {each.default or '–'} | "
        f"{PINNED[each.effect]} | {_cell(each.text)} |\n"
        for each in found
    )
    return (
        f"| Key | Flag | Variable | Default | Pinned | Meaning |\n|---|---|---|---|---|---|\n{rows}"
    )


def _usage(setting: Setting) -> str:
    return f"{setting.flag} {setting.metavar}".strip()


def _cell(text: str) -> str:
    return (text[:1].upper() + text[1:]).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
