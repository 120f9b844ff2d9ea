"""Hooks of MkDocs, which add generated and copied pages when the site is built, and adapt the links of all pages."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from api import extensions, library
from commands import reference
from links import Links
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import colbench
import colbench.cli
import sweet_rl_trainer.cli

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COPIED = {
    "index.md": "README.md",
    "writing-agents.md": "agents/README.md",
    "tasks.md": "tasks/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "code-of-conduct.md": "CODE_OF_CONDUCT.md",
    "security.md": "SECURITY.md",
    "versioning.md": "VERSIONING.md",
    "changelog.md": "CHANGELOG.md",
}
"""The pages whose source is outside docs/, each with its source."""
USAGE_COLUMNS = "100"
"""Width, in characters, of the usage text of a command."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the repository's URL and name from the project's metadata."""
    config.repo_url = PROJECT["urls"]["Repository"]
    config.repo_name = PROJECT["name"]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated or copied."""
    os.environ["COLUMNS"] = USAGE_COLUMNS
    made = {
        "reference/colbench.md": reference(colbench.cli.parser),
        "reference/sweet-rl.md": reference(lambda _: sweet_rl_trainer.cli.parser()),
        "reference/library.md": library(colbench.__all__),
        "reference/extensions.md": extensions(),
    }
    copied = {page: (ROOT / source).read_text("utf-8") for page, source in COPIED.items()}
    for page, content in {**made, **copied}.items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, **_: Any) -> str:
    """Return a page's Markdown with its links as they are on the site."""
    return Links(ROOT, COPIED, config.repo_url or "").rewrite(markdown, page.file.src_uri)
