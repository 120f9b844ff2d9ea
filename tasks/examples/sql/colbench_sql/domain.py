"""The domain: a person needs a report, and the answer is one SQL query."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.code_resources import CodeResources
from colbench.config import RunConfig
from colbench.domain import Defaults, Domain, Metric, Resources
from colbench.interfaces import Scorer
from colbench.presentation import Draft
from colbench.task import Task
from colbench_sql.scorer import QueryScorer


class SQLDomain(Domain):
    """A domain in which answers are SQL queries, scored by the rows that the queries return on hidden databases."""

    name = "sql"
    title = "Reports in SQL"
    noun = "SQL query"
    language = "sql"
    metrics = (
        Metric(name="success", label="success rate", role="success"),
        Metric(
            name="databases",
            label="databases right",
            role="primary",
            description="hidden databases on which the query gives the right rows",
        ),
        Metric(name="rows", label="rows found"),
    )
    defaults = Defaults(tasks="sql:test", agent="sql-asker", training="sql:train")
    leaderboard_sets = {"sql:test": 60}  # noqa: RUF012
    own_sources = frozenset({"sql:test", "sql:train"})
    example_request = "I need a report on the {name} of our shop."

    def resources(self, config: RunConfig, tasks: Sequence[Task]) -> CodeResources:  # noqa: ARG002
        """Return the sandbox in which queries are run."""
        return CodeResources(config)

    def scorer(self, resources: Resources) -> Scorer:
        """Return the scorer that runs queries on hidden databases."""
        assert isinstance(resources, CodeResources)  # noqa: S101
        return QueryScorer(resources.sandbox, self.source)

    def draft(self, dialogue: Sequence[str]) -> Draft:  # noqa: ARG002
        """Return the text from which a person who plays the agent starts a query."""
        return Draft(text="SELECT ", suffix=".sql", required=True)
