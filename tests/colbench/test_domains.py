"""Domains of other packages: how they are found, what makes one unusable, and what a run records of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from colbench.config import RunConfig
from colbench.domain import check_reference
from colbench.errors import UserError
from colbench.registry import GROUP, get_domain, installed_domains, package_of
from colbench.resources import RunResources
from colbench.score import Score
from colbench.task import Hidden, Task

DOMAIN = """
from colbench import Defaults, Domain, Metric

class Mine(Domain):
    name = "mine"
    title = "Mine"
    metrics = (Metric(name="share", label="share right", role="primary"),)
    defaults = Defaults(tasks="mine:test", agent="blank")
"""
SHOW = """
import json, logging
from colbench.registry import get_domain, installed_domains
from colbench.errors import UserError
try:
    said = get_domain("mine").agent_prompt(single_turn=False, pictures=False)
except UserError as error:
    said = str(error)
print(json.dumps([said, [domain.name for domain in installed_domains()]]))
"""


def install(folder: Path, package: str, entry: str) -> None:
    """Install a package with one domain."""
    information = folder / f"{package}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[{GROUP}]\n{entry}\n")


def python(code: str, *folders: Path) -> tuple[str, str]:
    """Run code in a Python that finds the packages in these folders. Return its standard output and standard error."""
    path = os.pathsep.join(map(str, folders))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("module", "flaw"),
    [
        (DOMAIN.replace('"mine"', '"other"'), "has the name `other`, which must equal"),
        (DOMAIN.replace('title = "Mine"', ""), "has no `title`"),
        (DOMAIN.replace('role="primary"', ""), "has 0 metrics with the role `primary`"),
        (DOMAIN + '    modes = ("strict", "default")', "but the first must be `default`"),
        (
            DOMAIN.replace('"primary"', '"primary", unit="s"'),
            "has the metric `share` with the role `primary` and the unit `s`, but only the role `detail`",
        ),
        (
            DOMAIN.replace('"primary"', '"primary", direction="lower"'),
            "has the metric `share` with the role `primary` and the direction `lower`, which only",
        ),
        (DOMAIN.replace("(Domain)", ""), "is not a subclass of colbench.Domain"),
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named"),
        ("", "AttributeError"),
    ],
)
def test_an_invalid_domain_is_named_and_the_others_still_work(
    tmp_path: Path, module: str, flaw: str
):
    install(tmp_path, "mine", "mine = its_module:Mine")
    (tmp_path / "its_module.py").write_text(module)
    shown, logged = python(SHOW, tmp_path)
    said, others = json.loads(shown)
    assert said.startswith("the domain `mine`")
    assert flaw in said
    assert "its_module:Mine" in said
    assert {"backend", "frontend"} <= set(others)
    assert "mine" not in others
    assert flaw in logged


@pytest.mark.parametrize(
    ("value", "note", "flaw"),
    [
        (None, "no test counts", "the reference is not scored in default mode: no test counts"),
        (0.5, "", "the reference scores 0.5 in default mode"),
    ],
)
async def test_a_flaw_of_a_reference_is_complete_without_a_value_or_a_note(value, note, flaw):
    class Fixed:
        async def score(self, task: Task, answer: str) -> dict[str, Score]:
            return {"default": Score(scorer="x", value=value, success=None, note=note)}

    task = Task(id="t", domain="mine", request="r", hidden=Hidden(reference="x"))
    assert (await check_reference(Fixed(), task)).flaws == (flaw,)


def test_a_domain_in_a_single_module_uses_the_prompts_of_colbench(tmp_path: Path):
    install(tmp_path, "mine", "mine = its_module:Mine")
    (tmp_path / "its_module.py").write_text(DOMAIN + '    noun = "rhyme"\n')
    said, names = json.loads(python(SHOW, tmp_path)[0])
    assert "a person who needs a rhyme" in said
    assert "mine" in names


def test_a_domain_name_defined_by_two_packages_is_refused(tmp_path: Path):
    install(tmp_path / "one", "one", "mine = one:Mine")
    install(tmp_path / "two", "two", "mine = two:Mine")
    said, _ = json.loads(python(SHOW, tmp_path / "one", tmp_path / "two")[0])
    assert said == (
        "several packages define the domain `mine`: one:Mine and two:Mine; uninstall all but one"
    )


def test_a_run_records_the_package_of_a_third_party_domain(tmp_path: Path):
    install(tmp_path, "mine", "mine = its_module:Mine")
    (tmp_path / "its_module.py").write_text(DOMAIN)
    code = (
        "from colbench.config import RunConfig\nfrom colbench.resources import RunResources\n"
        "print(RunResources(RunConfig(), (), ['mine', 'backend']).pins['domains'])"
    )
    assert python(code, tmp_path)[0] == "{'mine': 'mine 1.0'}\n"


def test_built_in_domains_have_no_pin_of_their_own():
    assert [package_of(name) for name in ("backend", "frontend")] == ["", ""]
    assert "domains" not in RunResources(RunConfig(), (), ["backend"]).pins
    assert {"backend", "frontend"} <= {domain.name for domain in installed_domains()}


def test_a_scoring_mode_that_a_domain_lacks_is_refused(tmp_path: Path):
    install(tmp_path, "mine", "mine = its_module:Mine")
    (tmp_path / "its_module.py").write_text(DOMAIN)
    code = (
        "from colbench.config import RunConfig\nfrom colbench.errors import UserError\n"
        "from colbench.resources import RunResources\n"
        "try:\n    RunResources(RunConfig(scoring='official'), (), ['mine'])\n"
        "except UserError as error:\n    print(error)"
    )
    said = "--scoring official: mine tasks are scored in default mode\n"
    assert python(code, tmp_path)[0] == said


def test_an_unknown_domain_is_refused_with_the_installed_ones():
    with pytest.raises(UserError, match=r"unknown domain `mobile`; installed: backend, front"):
        get_domain("mobile")
