"""The library as new users meet it: a wheel in an empty directory, from a script and from a Jupyter kernel."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

ROOT = Path(__file__).parents[2]
SIX_LINES = """
import colbench

run = colbench.evaluate(agent="interviewer", tasks="bundled:backend", limit=3)
print(run.report.success_rate.mean, len(run.rollouts))
print(run.to_pandas()["success"].tolist())
print(run.to_dataset().num_rows)
"""
PRINTED = ["1.0 3", "[1.0, 1.0, 1.0]", "3"]
NOT_LOADED = {"torch", "playwright", "datasets", "pandas", "numpy", "PIL", "rich", "aiohttp"}


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """Return the Python of an environment with ColBench from a wheel, and its dependencies from this environment."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "pip", "wheel", *OFFLINE, "--wheel-dir", folder, ROOT)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    own = Path(run(python, "-c", "import site; print(site.getsitepackages()[0])").strip())
    here = run(sys.executable, "-c", "import site; print(site.getsitepackages()[0])").strip()
    (own / "dependencies.pth").write_text(here)
    wheel = next(folder.glob("colbench-*.whl"))
    run(sys.executable, "-m", "pip", "--python", python, "install", *OFFLINE, "--no-index", wheel)
    return python


OFFLINE = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")


def run(*command: object, **more: object) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_six_line_example_runs_from_a_wheel_in_an_empty_directory(python, tmp_path):
    assert run(python, "-c", SIX_LINES, cwd=tmp_path).splitlines() == PRINTED
    place = run(python, "-c", "import colbench; print(colbench.__file__)", cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(python.parents[1])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_six_line_example_runs_in_a_jupyter_kernel(tmp_path):
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    try:
        printed: list[str] = []

        def output(message: dict) -> None:
            content = message["content"]
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                printed.append(content["text"])

        reply = client.execute_interactive(SIX_LINES, timeout=120, output_hook=output)
        assert reply["content"]["status"] == "ok", reply["content"].get("traceback")
        assert "".join(printed).splitlines() == PRINTED
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_importing_colbench_loads_no_heavy_packages():
    code = textwrap.dedent(
        """
        import sys
        import colbench
        print(*{name.partition(".")[0] for name in sys.modules})
        """
    )
    assert NOT_LOADED.isdisjoint(run(sys.executable, "-c", code).split())
