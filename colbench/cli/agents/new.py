"""`colbench agents new`: start a package for your own agent, with passing tests, a README and a CI workflow."""

from __future__ import annotations

import argparse
import re
import shlex
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from string import Template
from typing import Any

from msgspec import Struct

from colbench.cli.files import made_whole
from colbench.command import describe
from colbench.errors import UserError
from colbench.version import __version__

TEMPLATES = Path(__file__).with_name("templates")
"""Folder of the templates: a subfolder for each kind, and the subfolder `every` with the templates of all kinds.

Texts and paths contain variables such as `$name`."""
SUFFIX = ".tmpl"
"""Suffix of every template, so that tools do not treat the template as a finished file."""
NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9])?")
"""Pattern of names that are valid on PyPI and, with each `-` replaced by `_`, in Python."""


class Kind(Struct, frozen=True, kw_only=True):
    """One kind of package for an agent: its description, and commands to run in the package's folder."""

    what: str
    install: str
    """Command that installs what the package's tests require."""
    first: tuple[str, str]
    """The first commands to try."""


KINDS = {
    "python": Kind(
        what="a Python package; once it is installed, use it with `--agent $name`",
        install="pip install -e '.[test]'",
        first=("pip install -e '.[test]'", "colbench eval --agent $name --limit 20"),
    ),
    "stdio": Kind(
        what="a program that talks over stdin and stdout",
        install="pip install -r requirements-test.txt",
        first=(
            'colbench agents check "cmd:python3 agent.py"',
            'colbench eval --agent "cmd:python3 agent.py" --limit 20',
        ),
    ),
    "http": Kind(
        what="a server that talks over HTTP",
        install="pip install -r requirements-test.txt",
        first=(
            "python3 agent.py 8000 &",
            "colbench eval --agent http://127.0.0.1:8000 --limit 20",
        ),
    ),
}


def add_to(actions: Any) -> None:
    """Add the command `agents new` to the parser."""
    parser = actions.add_parser(
        "new", help="start a package for your own agent", description=describe(__doc__)
    )
    parser.add_argument("name", metavar="NAME", help="the agent's name, such as my-agent")
    parser.add_argument(
        "--kind",
        choices=KINDS,
        required=True,
        help="python: a class in a package to install; stdio: a program that talks over stdin and stdout; "
        "http: a server",
    )
    parser.add_argument("--to", metavar="DIR", help="folder to create (default: NAME)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Create the package, and print the next steps."""
    kind, folder = KINDS[args.kind], Path(args.to or args.name)
    _check_name(args.name)
    if args.kind == "python":
        _check_module(args.name)
    words = {
        "name": args.name,
        "module": _as_module(args.name),
        "version": __version__,
        "install": kind.install,
    }
    with made_whole(folder, flag="--to") as part:
        files = _write(part, args.kind, words)
    print(f"{args.name}: {Template(kind.what).substitute(words)}\n")
    print(*(f"  {folder / file}" for file in files), sep="\n")
    print("\nNext:")
    for command in (f"cd {shlex.quote(str(folder))}", *kind.first):
        print(f"  {Template(command).safe_substitute(words)}")
    return 0


def _check_name(name: str) -> None:
    from colbench.plugins import location, names

    if not NAME.fullmatch(name):
        raise UserError(
            f"NAME {name}: use letters from a to z, digits, - and _; begin with a letter and end "
            "with a letter or digit, such as my-agent"
        )
    for known in names("agent"):
        if _as_module(known) == _as_module(name):
            where = location("agent", known)
            raise UserError(
                f"NAME {name}: --agent {known} already exists ({where}); choose another name"
            )


def _check_module(name: str) -> None:
    """Raise UserError if the name is a Python keyword or an existing module."""
    module = _as_module(name)
    if iskeyword(module):
        raise UserError(
            f"NAME {name}: this is a Python keyword; choose another name, such as {name}-agent"
        )
    found = find_spec(module)
    if found and found.origin:  # a folder without modules, such as an empty one, has no origin
        raise UserError(
            f"NAME {name}: a Python module {module} already exists ({found.origin}); choose "
            f"another name, such as {name}-agent"
        )


def _as_module(name: str) -> str:
    return name.lower().replace("-", "_")


def _write(folder: Path, kind: str, words: dict[str, str]) -> list[Path]:
    """Write the files from the templates of `kind`, filled with `words`; return their paths, relative to `folder`."""
    files = []
    for top in (TEMPLATES / kind, TEMPLATES / "every"):
        for template in top.rglob(f"*{SUFFIX}"):
            place = str(template.relative_to(top)).removesuffix(SUFFIX)
            file = Path(Template(place).substitute(words))
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            text = Template(template.read_text("utf-8")).substitute(words)
            (folder / file).write_text(text, "utf-8")
            files.append(file)
    return sorted(files)
