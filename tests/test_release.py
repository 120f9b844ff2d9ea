"""Requirements of a release: a matching tag, a citation, and workflows with existing targets and without secrets."""

from __future__ import annotations

import importlib.util
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from colbench.version import __version__

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
REPOSITORY = "https://github.com/someone/colbench"
FILES = ("CHANGELOG.md", "CITATION.cff", "colbench/version.py", "pyproject.toml")


@pytest.fixture
def tree(tmp_path) -> Path:
    """Return a folder with the files that the release check reads, ready for a release by REPOSITORY's workflow."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    dated = re.sub(rf"(## \[{re.escape(__version__)}\] - ).*", r"\g<1>2026-12-01", changelog)
    (tmp_path / "CHANGELOG.md").write_text(dated, "utf-8")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    owned = re.sub(r"^Repository = .*", f'Repository = "{REPOSITORY}"', project, flags=re.MULTILINE)
    (tmp_path / "pyproject.toml").write_text(owned, "utf-8")
    return tmp_path


def faults(tree: Path, tag: str, repository: str) -> list[str]:
    path = ROOT / ".github" / "check_release.py"
    spec = importlib.util.spec_from_file_location("check_release", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.faults(tree, tag, repository))


def test_a_tag_of_the_current_version_can_be_released(tree):
    assert faults(tree, f"v{__version__}", REPOSITORY) == []


def test_a_tag_of_another_version_cannot_be_released(tree):
    (fault,) = faults(tree, "v9.9.9", REPOSITORY)
    assert fault.startswith("the tag is v9.9.9")


def test_the_workflow_of_another_repository_cannot_release(tree):
    (fault,) = faults(tree, f"v{__version__}", "https://github.com/other/colbench")
    assert "the workflow runs in https://github.com/other/colbench" in fault


def test_a_release_needs_a_dated_section_of_the_changelog(tree):
    (tree / "CHANGELOG.md").write_text(f"# Changelog\n\n## [{__version__}] - unreleased\n")
    (fault,) = faults(tree, f"v{__version__}", REPOSITORY)
    assert fault.startswith(f"CHANGELOG.md: write the section `## [{__version__}] - YYYY-MM-DD`")


def test_a_release_needs_a_citation_of_its_version(tree):
    (tree / "CITATION.cff").write_text("version: 0.0.1\n")
    (fault,) = faults(tree, f"v{__version__}", REPOSITORY)
    assert fault == f"CITATION.cff: the version must be {__version__}"


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.name)
def workflow(request) -> str:
    return request.param.read_text("utf-8")


def test_a_workflow_has_read_permission_only_pinned_actions_and_no_secrets(workflow):
    assert yaml.safe_load(workflow)["permissions"] == {"contents": "read"}
    assert "secrets." not in workflow
    assert "pull_request_target" not in workflow
    actions = re.findall(r"uses: (.*)", workflow)
    assert actions
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action) for action in actions)


def test_no_workflow_puts_an_expression_into_a_shell_command(workflow):
    jobs = yaml.safe_load(workflow)["jobs"].values()
    assert not [s["run"] for job in jobs for s in job["steps"] if "${{" in s.get("run", "")]


def test_every_make_target_of_a_workflow_is_in_the_makefile(workflow):
    rules = re.findall(r"^([\w -]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    assert set(re.findall(r"\bmake ([a-z-]+)", workflow)) <= targets


def test_every_supported_python_version_is_tested_and_installed_on():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))["jobs"]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "classifiers"
    ]
    versions = [each.rpartition(" ")[2] for each in classifiers if "Python :: 3." in each]
    assert jobs["test"]["strategy"]["matrix"]["python"] == versions
    assert jobs["install"]["strategy"]["matrix"]["python"] == versions
