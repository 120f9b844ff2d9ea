"""Commands that read a run keep little of each dialogue in memory: at most a tenth of its line in the file."""

from __future__ import annotations

import pytest

import colbench

FEW, MANY = 10, 510
"""Numbers of trials of ten tasks."""
BYTES = 2_000
"""Maximum bytes of memory for each further dialogue; a dialogue that is kept in memory takes 15,000 or more."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory, multiplied):
    """Return the folders of runs by agent and number of trials."""
    home = tmp_path_factory.mktemp("runs")
    found = {}
    for agent in ("demonstrator", "guesser"):
        colbench.evaluate(agent=agent, limit=10, out=home / agent)
        for trials in (FEW, MANY):
            found[agent, trials] = multiplied(home / agent, home / f"{agent}-{trials}", trials)
    return found


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("view RUN --list", marks=pytest.mark.slow),
        pytest.param("view RUN --failed", marks=pytest.mark.weekly),
        "view RUN --task TASK",
        pytest.param("compare RUN OTHER", marks=pytest.mark.slow),
        pytest.param("report RUN --json", marks=pytest.mark.slow),
        pytest.param("score RUN", marks=pytest.mark.weekly),
    ],
)
def test_memory_hardly_grows_with_the_number_of_dialogues(command, runs, peak_memory):
    first = colbench.load_run(runs["demonstrator", FEW]).rollouts[0].task_id

    def measure(trials):
        words = {
            "RUN": runs["demonstrator", trials],
            "OTHER": runs["guesser", trials],
            "TASK": first,
        }
        return peak_memory(*(words.get(word, word) for word in command.split()))

    assert (measure(MANY) - measure(FEW)) / (10 * (MANY - FEW)) < BYTES


def test_a_large_comparison_lists_only_the_tasks_that_differ_most(runs):
    from colbench.comparison.page import render_page

    pair = [colbench.load_run(runs[agent, FEW]) for agent in ("demonstrator", "guesser")]
    found = colbench.compare(*pair)
    (domain,) = found.domains.values()
    assert len(domain.differing) > 3
    most, other = domain.differing[1].task_id, domain.differing[2].task_id
    page = render_page(found, pair, large=2 * 2 * FEW)
    assert f"largest differences, out of {len(domain.differing)};" in page
    assert most in page
    assert other not in page
    whole = render_page(found, pair)
    assert "largest differences, out of" not in whole
    assert other in whole
