"""Vendored files: what is shipped, under which license, and the version that identifies the content."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from colbench.sandbox.browser import assets
from colbench.sandbox.browser.assets.vendored import VENDOR, content_hash

FILES = sorted(path.relative_to(VENDOR).as_posix() for path in VENDOR.rglob("*") if path.is_file())


def test_the_readme_lists_every_vendored_file_with_its_license() -> None:
    text = (VENDOR / "README.md").read_text()
    for name in FILES:
        if name.endswith((".xz", ".ttf")):
            family = "fonts/Liberation*.ttf" if "Liberation" in name else name
            line = next(line for line in text.splitlines() if f"| `{family}` |" in line)
            assert "MIT" in line or "LICENSE" in line


def test_the_license_texts_are_included() -> None:
    starts = {
        "fonts/LICENSE.Liberation": "SIL OPEN FONT LICENSE Version 1.1",
        "fonts/LICENSE.Twemoji": "SIL OPEN FONT LICENSE",
        "fonts/LICENSE.DejaVu": "Bitstream Vera Fonts Copyright",
        "tailwind/LICENSE": "MIT License",
    }
    for name, words in starts.items():
        assert words in (VENDOR / name).read_text()


def test_the_vendored_files_are_small_in_total() -> None:
    assert sum((VENDOR / name).stat().st_size for name in FILES) < 6_000_000


def test_the_version_is_the_hash_of_the_content(tmp_path: Path) -> None:
    folder = tmp_path / "assets"
    shutil.copytree(VENDOR.parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert content_hash(folder) == assets.VERSION
    with (folder / "vendor/fonts/Symbols.ttf").open("ab") as file:
        file.write(b"x")
    assert content_hash(folder) != assets.VERSION


def test_importing_the_assets_loads_no_heavy_packages() -> None:
    code = (
        "import sys; import colbench.sandbox.browser.assets as a;"
        "a.prepare('<p>'); print(sorted({'PIL', 'numpy', 'playwright', 'torch'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"
