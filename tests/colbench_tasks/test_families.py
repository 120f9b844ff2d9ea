"""Installed families: those of this package, those of other packages, and those that cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from msgspec.structs import replace

from colbench.errors import UserError
from colbench_tasks import families
from colbench_tasks.bundled import SETS, check_families
from colbench_tasks.families import FAMILIES, GROUP, Families
from colbench_tasks.generated import PAGES

FOLDER = Path(families.__file__).parent
Run = Callable[..., subprocess.CompletedProcess[str]]
COPY = """
from msgspec.structs import replace

from colbench_tasks.families.parking import FAMILY as PARKING

FAMILY = replace(PARKING, name="eggs")
"""


def install(folder: Path, package: str, entry: str, module: str = "") -> str:
    """Install a package with one module and one entry point of the group, and return the folder for PYTHONPATH."""
    information = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[{GROUP}]\n{entry}\n")
    (folder / "its_module.py").write_text(module)
    return str(folder)


def test_a_built_in_family_is_a_folder_of_two_files() -> None:
    folders = sorted(path.name for path in FOLDER.iterdir() if (path / "__init__.py").is_file())
    assert folders == list(FAMILIES)[: len(folders)]
    for name in folders:
        files = {path.name for path in (FOLDER / name).iterdir()} - {"__pycache__"}
        assert files == {"__init__.py", "examples.txt"}
        assert all(len(decision.examples) >= 20 for decision in FAMILIES[name].decisions)


def test_every_frozen_set_pins_installed_families() -> None:
    for name, frozen in SETS.items():
        check_families(name, frozen)
    assert len(SETS["backend/test"].families) == 49
    assert len(SETS["frontend/test"].families) == 25


@pytest.mark.parametrize(
    ("name", "pins", "words"),
    [
        ("backend/test", {"parking": 2}, "version 2 of the family parking, but version 1 is"),
        ("backend/train", {"eggs": 1}, "version 1 of the family eggs, but none is installed"),
        ("frontend/test", {"pricing": 3}, "version 3 of the family pricing, but version 1 is"),
        ("frontend/train", {"parking": 1}, "version 1 of the family parking, but none is"),
    ],
)
def test_a_set_is_refused_without_the_pinned_version_of_its_family(
    name: str, pins: dict[str, int], words: str
) -> None:
    with pytest.raises(
        UserError, match=rf"^--tasks bundled:{name}: the set is generated from {words}"
    ):
        check_families(name, replace(SETS[name], families=SETS[name].families | pins))


@pytest.mark.weekly
def test_a_new_family_and_a_new_kind_change_no_frozen_set(tmp_path: Path) -> None:
    """Check a copy of the package with one more folder and one more kind of page."""
    tree = ("cp", "-r", str(FOLDER.parent), str(tmp_path))
    subprocess.run(tree, check=True)
    package = tmp_path / FOLDER.parent.name
    new = package / "families" / "another"
    subprocess.run(("cp", "-r", str(FOLDER / "parking"), str(new)), check=True)
    text = (new / "__init__.py").read_text().replace('name="parking"', 'name="another"')
    (new / "__init__.py").write_text(text)
    with (package / "frontend" / "kinds.py").open("a") as kinds:
        kinds.write(
            "\nimport msgspec\n\nKINDS += (msgspec.structs.replace(KINDS[0], name='other'),)\n"
        )
    code = (
        "from colbench_tasks.bundled import load\n"
        "from colbench_tasks.generated import INSTALLED, load as new\n"
        "print('another' in INSTALLED['backend'], 'other' in INSTALLED['frontend'])\n"
        "print({t.family for t in new('backend/x')} >= {'another', 'parking'})\n"
        "print(len(load('backend')), len(load('frontend')))\n"
    )
    environment = {"PYTHONPATH": str(tmp_path), "COLBENCH_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True True\nTrue\n1000 500\n"


def test_a_family_that_cannot_be_loaded_is_an_error_only_if_it_is_used(
    tmp_path: Path, run_alone: Run
) -> None:
    site = install(tmp_path, "colbench-eggs", "eggs = its_module:FAMILY", "import chickens\n")
    code = (
        "from colbench.errors import UserError\n"
        "from colbench_agents.interviewer import recognize\n"
        "from colbench_tasks import bundled, generated\n"
        "first = bundled.load('frontend')[0], generated.load('backend/x?families=parking')[0]\n"
        "print(recognize(first[1].request)[0].name)\n"
        "try: generated.load('backend/x')\n"
        "except UserError as error: print(error)\n"
    )
    done = run_alone(code, PYTHONPATH=site)
    assert done.stdout.startswith("parking\nfamily eggs (its_module:FAMILY of colbench-eggs): ")
    assert "the import failed: ModuleNotFoundError: No module named 'chickens'" in done.stdout
    assert done.stderr.count("ignored: family eggs") == 1


def test_a_duplicate_family_name_is_refused_and_both_packages_are_named(
    tmp_path: Path, run_alone: Run
) -> None:
    site = install(tmp_path, "other-lots", "parking = its_module:FAMILY")
    code = (
        "from colbench.errors import UserError\n"
        "from colbench_tasks import generated\n"
        "print(len(generated.load('backend/x?families=hotel')))\n"
        "try: generated.load('backend/x?families=parking')\n"
        "except UserError as error: print(error)\n"
    )
    done = run_alone(code, PYTHONPATH=site)
    assert done.stdout == (
        "100\nfamily parking: registered by several packages (colbench, other-lots); uninstall all but one\n"
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("eggs", "no_such_module:FAMILY", "the import failed: ModuleNotFoundError"),
        ("eggs", "colbench_tasks.families.parking:NO_FAMILY", "the import failed: AttributeError"),
        ("eggs", "colbench_tasks.families:GROUP", "expected a colbench_tasks.family.Family, found"),
        (
            "eggs",
            "colbench_tasks.families.parking:FAMILY",
            "the family is named 'parking'; its entry",
        ),
    ],
)
def test_an_invalid_entry_point_is_refused_with_the_reason(
    name: str, value: str, words: str
) -> None:
    installed = Families([EntryPoint(name, value, GROUP)])
    assert (list(installed), name in installed) == ([name], True)
    with pytest.raises(UserError, match=rf"^family {name} \({value} of colbench\): {words}"):
        installed[name]


def test_a_family_without_example_questions_is_refused(tmp_path: Path, run_alone: Run) -> None:
    site = install(tmp_path, "colbench-eggs", "eggs = its_module:FAMILY", COPY)
    code = (
        "from colbench.errors import UserError\n"
        "from colbench_tasks.families import FAMILIES\n"
        "try: FAMILIES['eggs']\n"
        "except UserError as error: print(error)\n"
    )
    done = run_alone(code, PYTHONPATH=site)
    assert f"{tmp_path}/examples.txt: the example questions cannot be read: " in done.stdout


def test_a_signature_of_two_families_is_recognized_as_the_built_in_one(
    tmp_path: Path, run_alone: Run
) -> None:
    site = install(tmp_path, "colbench-eggs", "eggs = its_module:FAMILY", COPY)
    (tmp_path / "examples.txt").write_bytes((FOLDER / "parking" / "examples.txt").read_bytes())
    code = (
        "from colbench_agents.interviewer import recognize\n"
        "from colbench_tasks import generated\n"
        "for task in generated.load('backend/x?number=2&families=parking,eggs'):\n"
        "    print(task.family, recognize(task.request)[0].name)\n"
    )
    done = run_alone(code, PYTHONPATH=site)
    assert done.stdout == "parking parking\neggs parking\n"


def test_families_and_kinds_have_versions_of_at_least_one() -> None:
    for each in (*FAMILIES.values(), *PAGES.values()):
        assert each.version >= 1
