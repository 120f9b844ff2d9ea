"""The files that turn a folder of task sets into a benchmark on the Hugging Face Hub: dataset card and `eval.yaml`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from colbench.domain import Domain
from colbench.interfaces import Origin

FRAMEWORK = "colbench"
SPLIT = "test"
SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
"""The Hub's size categories, each by its upper limit in rows."""
LICENSES = {"Apache-2.0": "apache-2.0", "MIT": "mit", "CC-BY-4.0": "cc-by-4.0"}
"""The Hub's license identifiers, by the part of `Origin.license` before its first comma."""


class CardSet(Struct, frozen=True, kw_only=True):
    """A task set in a dataset card; on the Hub, the set is a configuration that is named after the domain."""

    source: str
    domain: Domain
    tasks: int
    origin: Origin

    @property
    def path(self) -> str:
        """The set's file in the dataset repository."""
        return f"data/{self.domain.name}/{SPLIT}.parquet"


def eval_yaml(sets: Sequence[CardSet]) -> str:
    """Return `eval.yaml`, which registers the dataset as a benchmark with a task for each set."""
    return _yaml(
        {
            "name": "ColBench",
            "description": "Collaborative Agent Bench: how well an LLM agent works with a "
            "simulated human who knows what they need but has not written it down.",
            "evaluation_framework": FRAMEWORK,
            "tasks": [
                {"id": each.domain.name, "config": each.domain.name, "split": SPLIT}
                for each in sets
            ],
        }
    )


def readme(sets: Sequence[CardSet], repository: str) -> str:
    """Return the dataset card of a repository OWNER/NAME: front matter in YAML, and a page in Markdown."""
    return f"---\n{_yaml(front_matter(sets))}---\n\n{_page(sets, repository)}"


def front_matter(sets: Sequence[CardSet]) -> dict[str, Any]:
    """Return the metadata of the dataset card."""
    licenses = {LICENSES.get(each.origin.license.partition(",")[0], "other") for each in sets}
    rows = sum(each.tasks for each in sets)
    return {
        "pretty_name": "ColBench",
        "language": ["en"],
        "license": licenses.pop() if len(licenses) == 1 else "other",
        "task_categories": ["text-generation"],
        "tags": ["benchmark", "agents", "collaboration", "multi-turn", "code"],
        "size_categories": [next((word for most, word in SIZES.items() if rows < most), "n>1M")],
        "configs": [
            {
                "config_name": each.domain.name,
                "data_files": [{"split": SPLIT, "path": each.path}],
            }
            for each in sets
        ],
    }


def _page(sets: Sequence[CardSet], repository: str) -> str:
    from colbench.markdown import table

    rows = [
        (each.domain.name, f"{each.tasks:,}", f"`{each.source}`", each.origin.license)
        for each in sets
    ]
    metrics = "\n".join(
        f"- **{each.domain.title}**: {', '.join(metric.label for metric in each.domain.metrics)}"
        for each in sets
    )
    about = "\n\n".join(each.origin.what for each in sets)
    first = sets[0].domain.name
    return f"""# ColBench

How well does an LLM agent work *with* a person? A simulated human knows what they need and has not written it down. The
agent asks, proposes and refines in at most ten turns; then its answer is judged.

{about}

{table(("configuration", "tasks", "source", "license"), rows)}

## Evaluate

```
pip install colbench
colbench eval --tasks {sets[0].source} --agent openai:MODEL
```

The rows can be read with `datasets`, and `colbench eval --tasks FILE` takes the Parquet file:

```python
from datasets import load_dataset

tasks = load_dataset("{repository}", "{first}", split="{SPLIT}")
```

## Columns

`problem_description` is the request, the only column that an agent may see. `ground_truth`, `test_cases`, `facts` and
`hidden_information` are hidden: scoring and the simulated human use them. Do not train on this set.

## Metrics

{metrics}

## Results of a model

`colbench export RUN --format hf-eval-results --dataset {repository} --out .eval_results` writes the file that puts a
run's result on a model's page.
"""


def _yaml(content: Any) -> str:
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]

    return str(yaml_dump(content))
