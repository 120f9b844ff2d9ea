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

A setting can be given in three places. If several of them contain it, the first one in this list counts:

1. a flag of the command line: `--max-turns 5`
2. an environment variable, named after the flag: `COLBENCH_MAX_TURNS=5`
3. a key in the TOML (or `*.json`) file that `--config FILE` names: `max_turns = 5`

A setting that is missing in all three places has its default. An empty value is an error. From Python, the keys of
the file are arguments of `evaluate`: `colbench.evaluate(max_turns=5)`. In flags and variables, commas separate the
items of a list (`--task-ids a,b`).

The arguments of the agent and of the human can also be given in these places, and the arguments from all places are
combined. On the command line, repeat the flag: `--agent-arg temperature=0.7 --agent-arg seed=1`. In a variable,
separate the arguments by spaces: `COLBENCH_AGENT_ARGS="temperature=0.7 seed=1"`. In a file, `agent_args` and
`human_args` are tables:

```toml
agent = "openai:my-model@http://localhost:8000/v1"
trials = 3
agent_price = [0.15, 0.60]
[agent_args]
temperature = 0.7
```

Unknown keys and flags are errors, and so are `COLBENCH_…` variables whose names look misspelled, such as
`COLBENCH_AGNET`.

Settings marked † are **pinned**, because they can change a result: a run is resumed only if they are unchanged. A
prompt file may be moved, but its content must be unchanged. The address of a model server is not pinned, and neither
are these arguments of agents and humans: {unpinned}.

Settings marked + select the dialogues, and can be changed to extend a run. A smaller selection deletes no dialogue, but
the report then covers only this selection.

All other settings can change at any time, with two exceptions. A run also pins the process in which the agent runs,
which `--in-process` changes, and the browser's version, which `--browser` can change.
"""
MARKS = {"pinned": "†", "selection": "+", "execution": ""}
OTHERS = """
## Other environment variables
| Variable | Meaning |
|---|---|
"""


def page() -> str:
    """Return the page on configuration, as Markdown."""
    sections = groupby(settings().values(), key=lambda setting: setting.group)
    tables = "".join(f"\n## {group.title()}\n{_table(found)}" for group, found in sections)
    rows = "".join(f"| `{name}` | {_cell(text)} |\n" for name, text in OTHER_VARIABLES.items())
    introduction = INTRODUCTION.replace(
        "{unpinned}", ", ".join(f"`{a}`" for a in sorted(EXECUTION_ARGS))
    )
    return f"{introduction}{tables}{OTHERS}{rows}"


def _table(found: Iterator[Setting]) -> str:
    rows = "".join(
        f"| `{_usage(each)}`{MARKS[each.effect]} | {each.default} | {_cell(each.text)} |\n"
        for each in found
    )
    return f"| Flag | Default | Meaning |\n|---|---|---|\n{rows}"


def _usage(setting: Setting) -> str:
    return f"{setting.flag} {setting.metavar}".strip()


def _cell(text: str) -> str:
    return (text[:1].upper() + text[1:]).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
