"""Pages that are generated when the site is built: commands, library, links."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import pytest

import colbench
import colbench.cli
import sweet_rl_trainer.cli

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://example.org/colbench"


def load(name):
    """Return a module of the site, which is in no package."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / f"docs/site/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def links():
    return load("links").Links(ROOT, {"index.md": "README.md"}, REPOSITORY)


def trainer(_):
    return sweet_rl_trainer.cli.parser()


@pytest.mark.parametrize("parser_of", [colbench.cli.parser, trainer])
def test_the_reference_has_every_command_with_every_flag(parser_of):
    commands = load("commands")
    page = commands.reference(parser_of)
    found = list(commands.leaves(parser_of))
    assert len(found) >= 3
    for command in found:
        assert len(command._actions) > 1, f"{command.prog} has no argument"
        section = page.split(f"\n## `{command.prog}`\n")[1].split("\n## ")[0]
        for action in command._actions:
            if action.help != argparse.SUPPRESS and "--help" not in action.option_strings:
                choices = f"{{{','.join(action.choices)}}}" if action.choices else action.dest
                names = action.option_strings or [action.metavar or choices]
                assert all(f"`{name}" in section for name in names), (command.prog, names)


def test_the_reference_shows_the_arguments_and_examples_of_a_command():
    page = load("commands").reference(colbench.cli.parser)
    section = page.split("\n## `colbench compare`\n")[1].split("\n## ")[0]
    assert "| `--html FILE` |" in section
    assert "\nExamples:\n\n```text\ncolbench compare runs/a runs/b\n" in section


def test_a_flag_is_shown_with_its_value_its_default_and_its_spellings():
    top = argparse.ArgumentParser(prog="program")
    parser = top.add_subparsers().add_parser("tool", description="Do <this>.")
    parser.add_argument(
        "-o", "--out", metavar="A|B", default="a", help="take (default: %(default)s)"
    )
    parser.add_argument("--quiet", action="store_true", help="print <nothing>|little")
    parser.add_argument("--secret", help=argparse.SUPPRESS)
    page = load("commands").reference(lambda _: top)
    assert "Do &lt;this&gt;." in page
    assert "| `-o A\\|B`, `--out A\\|B` | take (default: a) |" in page
    assert "| `--quiet` | print &lt;nothing&gt;\\|little |" in page
    assert "secret" not in page


def test_every_public_name_of_the_library_has_a_topic():
    api = load("api")
    page = api.library(colbench.__all__)
    assert all(
        f"::: colbench.{name}\n" in f"{page}\n" for name in colbench.__all__ if name[0] != "_"
    )
    with pytest.raises(ValueError, match=r"differ in \['new_name'\]"):
        api.library([*colbench.__all__, "new_name"])


@pytest.mark.parametrize(
    ("page", "link", "shown"),
    [
        ("index.md", "docs/metrics.md#the-asking", "metrics.md#the-asking"),
        ("metrics.md", "../README.md", "index.md"),
        ("site/page.md", "../study.md", "../study.md"),
        ("metrics.md", "../colbench/domain.py", f"{REPOSITORY}/blob/main/colbench/domain.py"),
        ("metrics.md", "../tasks/examples/sql", f"{REPOSITORY}/tree/main/tasks/examples/sql"),
        ("index.md", "docs/site/links.py", f"{REPOSITORY}/blob/main/docs/site/links.py"),
        ("metrics.md", "../missing.py", "../missing.py"),
        ("metrics.md", "../../outside", "../../outside"),
        ("metrics.md", "#the-asking", "#the-asking"),
        ("metrics.md", "https://arxiv.org/abs/2503.15478", "https://arxiv.org/abs/2503.15478"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site_or_a_file_of_the_repository(links, page, link, shown):
    assert links.rewrite(f"See [this]({link}).", page) == f"See [this]({shown})."


@pytest.mark.parametrize(
    ("page", "picture", "shown"),
    [
        ("index.md", "docs/pictures/report-dark.png", "pictures/report-dark.png"),
        ("view.md", "pictures/report-dark.png", "../pictures/report-dark.png"),
        ("view.md", "https://example.org/a.png", "https://example.org/a.png"),
    ],
)
def test_a_picture_in_html_is_relative_to_the_address_of_its_page(links, page, picture, shown):
    html = '<source srcset="{0}"><img alt="A report" src="{0}">'
    assert links.rewrite(html.format(picture), page) == html.format(shown)
