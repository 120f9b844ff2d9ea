"""Check that a tag may be released: `check_release.py TAG REPOSITORY_URL`. It needs only the standard library.

Prints one line for each fault, and exits with 1 if it finds a fault.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def faults(root: Path, tag: str, repository: str) -> Iterator[str]:
    """Yield the reasons why a workflow in `repository` (a URL) must not release the files in `root` as `tag`."""
    version = _only(VERSION, root / "colbench" / "version.py")
    if tag != f"v{version}":
        yield f"the tag is {tag}, and colbench/version.py has {version}: the tag must be v{version}"
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    stated = project["urls"]["Repository"]
    if stated != repository:
        yield f"pyproject.toml: Repository is {stated}, and the workflow runs in {repository}"
    if not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", _read(root, "CHANGELOG.md"), re.M
    ):
        yield f"CHANGELOG.md: write the section `## [{version}] - YYYY-MM-DD`, with the day of the release"
    if not re.search(rf'^version: "?{re.escape(version)}"?$', _read(root, "CITATION.cff"), re.M):
        yield f"CITATION.cff: the version must be {version}"


def _only(pattern: re.Pattern[str], path: Path) -> str:
    (found,) = pattern.findall(path.read_text("utf-8"))
    return str(found)


def _read(root: Path, name: str) -> str:
    return (root / name).read_text("utf-8")


if __name__ == "__main__":
    found = list(faults(Path(__file__).parents[1], *sys.argv[1:]))
    print("\n".join(found) or "the tag may be released")
    sys.exit(bool(found))
