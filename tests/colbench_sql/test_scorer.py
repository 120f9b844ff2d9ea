"""The scorer of the SQL example: which rows count as the same, and what a query cannot do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from colbench.domain import Domain
from colbench.sandbox import CodeSandbox
from colbench.score import Score
from colbench.task import Hidden, Task
from colbench_sql.scorer import LONGEST_QUERY, MOST_ROWS, QueryScorer, is_ordered

TABLE = "CREATE TABLE t (n INTEGER, word TEXT); INSERT INTO t VALUES "
DATABASES = (
    f"{TABLE}(1, 'a'), (2, 'b'), (3, 'c')",
    f"{TABLE}(2, 'b'), (1, 'a')",
    f"{TABLE}(5, 'e')",
)


@pytest.fixture
async def scorer() -> AsyncIterator[QueryScorer]:
    async with CodeSandbox(1) as sandbox:
        yield QueryScorer(sandbox, Domain().source)


async def score(
    scorer: QueryScorer, answer: str, reference: str, tests: Sequence[str] = DATABASES
) -> Score:
    hidden = Hidden(reference=reference, tests=tuple(tests))
    task = Task(id="t", domain="sql", request="A report.", hidden=hidden)
    return (await scorer.score(task, answer))["default"]


async def test_an_answer_that_gives_the_same_rows_is_correct(scorer: QueryScorer):
    answer = "Here it is:\n```sql\nSELECT word, n + 0.0 AS number FROM t ORDER BY 2;\n```"
    found = await score(scorer, answer, "SELECT word, n FROM t ORDER BY n")
    assert (found.value, found.success, found.metrics) == (1.0, True, {"rows": 1.0})
    assert "bubblewrap" in found.environment or "seccomp" in found.environment


async def test_the_order_of_rows_counts_only_if_the_reference_has_one(scorer: QueryScorer):
    backward = "SELECT n FROM t ORDER BY n DESC"
    ordered = await score(scorer, backward, "SELECT n FROM t ORDER BY n")
    assert (ordered.value, ordered.success) == (pytest.approx(1 / 3), False)
    assert (await score(scorer, backward, "SELECT n FROM t")).success


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT n FROM t order  by n", True),
        ("SELECT n FROM (SELECT n FROM (SELECT 1 AS n) ORDER BY n)", False),
        ("SELECT ROW_NUMBER() OVER (ORDER BY n) FROM t ORDER BY n", True),
        ("SELECT border FROM bypass", False),
    ],
)
def test_only_an_order_by_of_the_whole_query_makes_it_ordered(query: str, ordered: bool):
    assert is_ordered(query) is ordered


async def test_a_partly_correct_answer_is_scored_by_databases_and_rows(scorer: QueryScorer):
    found = await score(scorer, "SELECT n FROM t WHERE n < 3", "SELECT n FROM t")
    assert [check.outcome for check in found.checks] == ["wrong", "passed", "wrong"]
    assert found.value == pytest.approx(1 / 3)
    assert found.metrics["rows"] == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert found.failed_checks()[0] == "wrong: database 1: expected [1], [2], [3], got [1], [2]"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("DELETE FROM t", "not authorized"),
        ("INSERT INTO t VALUES (1, 'a')", "not authorized"),
        ("PRAGMA query_only = OFF", "not authorized"),
        ("ATTACH '/etc/passwd' AS x", "not authorized"),
        ("SELECT 1; DELETE FROM t", "You can only execute one statement at a time"),
        ("SELECT load_extension('x')", "not authorized"),
        ("SELECT FROM t", "syntax error"),
        ("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c", "rows"),
    ],
)
async def test_a_query_that_is_not_one_valid_bounded_select_is_an_error(
    scorer: QueryScorer, query: str, why: str
):
    found = await score(scorer, query, "SELECT n FROM t")
    assert (found.value, found.success) == (0.0, False)
    assert {check.outcome for check in found.checks} == {"error"}
    assert why in found.checks[0].actual


async def test_an_endless_query_times_out(scorer: QueryScorer):
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT MAX(n) FROM c"
    found = await score(scorer, endless, "SELECT n FROM t", DATABASES[:1])
    assert [check.outcome for check in found.checks] == ["timeout"]


async def test_a_result_with_the_maximum_number_of_rows_is_scored(scorer: QueryScorer):
    numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {}) SELECT n FROM c"
    most = numbers.format(MOST_ROWS)
    assert (await score(scorer, most, most, DATABASES[:1])).success


@pytest.mark.parametrize("answer", ["", " \n", "SELECT 1 " + "-" * LONGEST_QUERY])
async def test_an_empty_or_very_long_answer_is_not_run(scorer: QueryScorer, answer: str):
    found = await score(scorer, answer, "SELECT n FROM t")
    assert (found.value, found.success, found.checks) == (0.0, False, ())
    assert "characters" in found.note


async def test_a_failing_reference_leaves_the_answer_unscored(scorer: QueryScorer):
    found = await score(scorer, "SELECT n FROM t", "SELECT x FROM t")
    assert (found.value, found.success) == (None, None)
    assert {check.outcome for check in found.checks} == {"unscorable"}
