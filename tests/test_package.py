"""The wheel contains the committed packages and nothing else; the lock file satisfies the requirements."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from colbench.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
INSTALL = re.compile(r"pip install (?:-e )?'([\w./-]+)\[([\w,-]+)\]'")
METADATA = f"colbench-{__version__}.dist-info"


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> set[str]:
    """Return the names of the files in a wheel built from a clone that contains a cache and a run."""
    folder = tmp_path_factory.mktemp("package")
    clone = folder / "clone"
    run("git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", clone)
    for left in ("colbench/__pycache__/run.pyc", "runs/mine/run.json", "colbench/runs/run.json"):
        (clone / left).parent.mkdir(parents=True, exist_ok=True)
        (clone / left).touch()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=clone)
    (wheel,) = folder.glob("*.whl")
    assert wheel.name == f"colbench-{__version__}-py3-none-any.whl"
    with ZipFile(wheel) as opened:
        return set(opened.namelist())


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def committed(package: str) -> set[str]:
    """Return the committed files of a package, under the names that they have after installation."""
    listed = run("git", "ls-tree", "-r", "-z", "--name-only", "HEAD", package)
    above = Path(package).parent
    return {str(Path(name).relative_to(above)) for name in listed.split("\0") if name}


def test_the_wheel_contains_exactly_the_committed_files_of_the_packages(names):
    packaged = {name for name in names if not name.startswith(METADATA)}
    assert packaged == set().union(*map(committed, PACKAGES))


def test_the_wheel_contains_the_type_marker_and_every_license_file(names):
    assert "colbench/py.typed" in names
    listed = PROJECT["project"]["license-files"]
    assert all(any(ROOT.glob(pattern)) for pattern in listed)
    files = {str(path.relative_to(ROOT)) for pattern in listed for path in ROOT.glob(pattern)}
    assert {f"{METADATA}/licenses/{name}" for name in files} <= names


def pins(file: str) -> dict[str, str]:
    """Return the version of each package that a file pins."""
    lines = (ROOT / file).read_text("utf-8").splitlines()
    found = (re.match(r"([\w.-]+)==([\w.+]+)", line) for line in lines)
    return {canonicalize_name(match[1]): match[2] for match in found if match}


def test_the_lock_file_satisfies_the_requirements_of_the_project():
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    stated = map(Requirement, [*project["dependencies"], *extras["frontend"], *extras["train"]])
    locked = pins("requirements.lock")
    unmet = [
        str(each) for each in stated if locked[canonicalize_name(each.name)] not in each.specifier
    ]
    assert unmet == []


def test_the_lock_file_matches_the_constraints_with_hashes_and_without_urls():
    locked, constrained = pins("requirements.lock"), pins("constraints.txt")
    common = locked.keys() & constrained.keys()
    assert {name: locked[name] for name in common} == {name: constrained[name] for name in common}
    text = (ROOT / "requirements.lock").read_text("utf-8")
    packages = re.split(r"\n(?=\w)", text)[1:]
    assert len(packages) == len(locked) > 50
    assert all("--hash=sha256:" in each for each in packages)
    assert "://" not in text


def test_every_command_that_installs_an_extra_has_the_same_form_and_names_an_existing_extra():
    extras = set(PROJECT["project"]["optional-dependencies"])
    listed = run("git", "ls-files", "-z", "*.py", "*.md", "*.jinja").split("\0")
    found = {
        (name, place, frozenset(given.split(",")))
        for name in filter(None, listed)
        for place, given in INSTALL.findall((ROOT / name).read_text("utf-8"))
    }
    own = [each for each in found if each[1].endswith("colbench")]
    assert own
    assert [each for each in own if not each[2] <= extras] == []
    assert [each for each in found if each[1] == "." and each[2] & extras] == []
