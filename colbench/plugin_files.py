"""Python files that specs such as `my_agent.py:MyAgent` name: how they are imported, and what they define."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from colbench.errors import is_installed
from colbench.version import PACKAGES

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def import_file(path: Path) -> ModuleType:
    """Import a file, even if it was imported before. Modules in the file's folder become importable.

    The module has the file's name or, if another module has this name, `NAME@HASH` with the hash of the path.
    """
    path = path.expanduser().resolve()
    name = path.stem
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) != str(path):
        name += "@" + hashlib.sha256(str(path).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def name_of(found: type | Callable[..., Any]) -> str:
    """Return `module:name` of a class or function; for a class or function in a file, `module` is the file's name."""
    return f"{str(found.__module__).partition('@')[0]}:{found.__qualname__}"


def source_hash(file: Path) -> str:
    """Return the hash of a Python file and of the local modules that it imports (`local_files`)."""
    hashes = [hashlib.sha256(each.read_bytes()).hexdigest() for each in local_files(file)]
    whole = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return f"sha256:{whole}"


def local_files(file: Path) -> list[Path]:
    """Return a Python file and the files of the local modules that it imports, directly or indirectly; run no code.

    A module is local if it is in the folder of `file` or, if `file` is in a package, in this package. The modules of an
    installed package are not local. Modules that are imported by a computed name are not found.
    """
    file = file.expanduser().resolve()
    folder = root = file.parent
    while (root / "__init__.py").is_file():
        folder, root = root, root.parent
    found = [file]
    for known in found:  # the loop extends `found`
        if is_installed(str(known)):
            continue
        for each in _imported(known, (file.parent, root)):
            if folder in each.parents and each not in found:
                found.append(each)
    return found


def _imported(file: Path, roots: Collection[Path]) -> Iterator[Path]:
    """Yield the files of the modules that a file imports from the folders `roots`, or relative to the file."""
    for node in ast.walk(ast.Module(_body(file), [])):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _files(roots, each.name)
        elif isinstance(node, ast.ImportFrom):
            near = file.joinpath(*[".."] * node.level).resolve()
            folders = [near] if node.level else roots
            for each in node.names:  # a submodule, or an object of the module
                yield from _files(folders, f"{node.module or ''}.{each.name}")


def _files(folders: Collection[Path], module: str) -> Iterator[Path]:
    """Yield the existing files of a module and of the packages that contain it."""
    names = [name for name in module.split(".") if name]
    if names[0] in PACKAGES:
        return
    for folder in folders:
        places = [folder.joinpath(*names[:depth]) for depth in range(len(names) + 1)]
        files = [place / "__init__.py" for place in places]
        files += [place.with_name(f"{place.name}.py") for place in places[1:]]
        yield from filter(Path.is_file, files)


def objects_in(file: Path) -> list[str]:
    """Return the names of a file's public classes and functions, and of variables assigned from a call; run no code."""
    return [name for part in _body(file) for name in _names(part) if not name.startswith("_")]


def classes_in(file: Path, methods: Collection[str]) -> list[str]:
    """Return the names of a file's public classes that define at least one of `methods`; run no code."""
    return [
        part.name
        for part in _body(file)
        if isinstance(part, ast.ClassDef)
        and not part.name.startswith("_")
        and set(methods) & {getattr(each, "name", "") for each in part.body}
    ]


def _body(file: Path) -> list[ast.stmt]:
    """Return a file's statements; none if it is not readable as Python."""
    try:
        return ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []


def _names(part: ast.stmt) -> Iterator[str]:
    if isinstance(part, (ast.ClassDef, *FUNCTIONS)):
        yield part.name
    if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call):
        yield from (each.id for each in part.targets if isinstance(each, ast.Name))
