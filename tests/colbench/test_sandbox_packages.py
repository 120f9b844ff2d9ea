"""Installed packages in the sandbox: the requested ones and their requirements, and no others, on every tier."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest
from sandbox_tiers import SAFE

from colbench.errors import UserError
from colbench.sandbox import CodeSandbox, Job
from colbench.sandbox.packages import find_packages

NUMPY = """
import numpy as np
def total(n): return np.arange(n).sum() * 1.5
def array(n): return np.arange(n)
def draw(): return np.random.rand()
def product(): return np.ones((300, 300)).dot(np.ones((300, 300)))[0, 0]
def load(name): return __import__(name).__name__
"""
FRAME = """
import pandas as pd
def f(): return pd.DataFrame({"a": [1, 2, 2], "b": [1, 2, 3]}).groupby("a").b.sum().to_dict()
"""


def installed(name):
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


needs_pandas = pytest.mark.skipif(not installed("pandas"), reason="pandas is not installed")


async def run(box, source, *calls, **options):
    result = await box.run_one(Job(source=source, calls=calls, **options))
    return [call.value.decode() or call.message for call in result.calls["module"]]


@pytest.mark.parametrize("tier", SAFE)
async def test_only_requested_packages_can_be_imported(tier):
    async with CodeSandbox(1, tier=tier, packages=("numpy",)) as box:
        assert f"numpy {version('numpy')}" in box.environment
        calls = ("total(5)", "array(3)", "product()", "load('msgspec')", "load('colbench')")
        assert await run(box, NUMPY, *calls) == [
            "15.0",
            '{"array": [[3], [0, 1, 2]]}',
            "300.0",
            "ModuleNotFoundError: No module named 'msgspec'",
            "ModuleNotFoundError: No module named 'colbench'",
        ]


@pytest.mark.parametrize("tier", SAFE)
@needs_pandas
async def test_a_requested_package_comes_with_its_requirements(tier):
    async with CodeSandbox(1, tier=tier, packages=("pandas",)) as box:
        assert await run(box, FRAME, "f()", "pd.NA.__class__.__name__") == [
            '{"dict": [[1, 1], [2, 5]]}',
            '"NAType"',
        ]
        assert await run(box, NUMPY, "load('dateutil')") == ['"dateutil"']
        refused = await run(box, NUMPY, "load('pyarrow')")
        assert refused == ["ModuleNotFoundError: No module named 'pyarrow'"]


async def test_no_package_can_be_imported_by_default():
    async with CodeSandbox(1) as box:
        assert await run(box, NUMPY, "1") == ["ModuleNotFoundError: No module named 'numpy'"]


async def test_numpy_random_numbers_repeat_in_every_call_but_not_in_a_rehearsal():
    async with CodeSandbox(1, packages=("numpy",)) as box:
        first = await run(box, NUMPY, "draw()", "draw()")
        assert first[0] == first[1]
        assert first != await run(box, NUMPY, "draw()", "draw()", rehearsal=True)


def test_only_paths_of_the_requested_packages_are_visible():
    found = find_packages(["numpy"])
    assert found.names == ("numpy",)
    assert found.versions == (f"numpy {version('numpy')}",)
    (folder,) = found.folders
    assert f"{folder}/numpy" in found.paths
    assert all(path.removeprefix(f"{folder}/").startswith("numpy") for path in found.paths)


def test_no_paths_are_visible_without_packages():
    assert find_packages([]) == find_packages(())
    assert find_packages([]).paths == ()


def install(folder, name, *files, requires=()):
    """Write a distribution with these (empty) files, as an installer does."""
    information = folder / f"{name}-1.0.dist-info"
    information.mkdir()
    requirements = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    (information / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n{requirements}")
    (information / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()


def test_only_the_requested_part_of_a_namespace_package_is_visible(tmp_path, monkeypatch):
    folder = tmp_path / "lib" / "python"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(folder)
    needed = ["single>=1; python_version > '3'", "no; os_name == 'nt'", "other; extra == 'all'"]
    files = ("space/one/__init__.py", "space/one/deep/x.py", "../../bin/one")
    install(folder, "Shared_One", *files, requires=needed)
    install(folder, "other", "space/two/__init__.py")
    cached = "__pycache__/single.cpython-311.pyc"
    install(folder, "single", "single.py", cached, requires=["shared-one"])
    found = find_packages(["shared-one"])
    shown = ["single.py", "space/one"]
    assert found.paths == tuple(f"{folder}/{name}" for name in shown)
    assert found.names == ("single", "space")
    assert found.preloaded == ("space",)
    assert found.versions == ("Shared_One 1.0",)


def test_a_package_that_cannot_be_made_visible_is_a_user_error(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="nonesuch is not installed; pip install nonesuch"):
        CodeSandbox(1, packages=("numpy", "nonesuch"))
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "linked", "__editable__.linked.pth")
    install(tmp_path, "found", "__editable__.found-1.0.pth", "__editable___found_1_0_finder.py")
    for name in ("linked", "found"):
        with pytest.raises(UserError, match=f"{name} has no modules that answers could import"):
            CodeSandbox(1, packages=(name,))


@pytest.mark.parametrize("tier", [tier for tier in SAFE if tier != "T1b"])
async def test_modules_in_a_namespace_package_can_be_imported(tier, tmp_path, monkeypatch):
    tmp_path.chmod(0o755)
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "parts", "outer/inner/one.py", "outer/inner/two/__init__.py")
    async with CodeSandbox(1, tier=tier, packages=("parts",)) as box:
        calls = ("load('outer.inner.one')", "load('outer.inner.two')", "load('outer.inner.three')")
        assert await run(box, "def load(name): return __import__(name).__name__", *calls) == [
            '"outer"',
            '"outer"',
            "ModuleNotFoundError: No module named 'outer.inner.three'",
        ]


async def test_a_package_may_have_many_visible_files(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    files = [f"wide/{'a_long_name_' * 8}{number}.py" for number in range(600)]
    install(tmp_path, "wide", *files)
    assert sum(map(len, find_packages(["wide"]).paths)) > 1 << 16
    async with CodeSandbox(1, tier=SAFE[-1], packages=("wide",)) as box:
        assert await run(box, "", "1") == ["1"]
