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

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def import_file(path: Path) -> ModuleType:
    """Import a file, again if it was imported before; modules next to it become importable.

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
    """Return `module:name` of a class or function; for one from a file, the module is the file's name."""
    return f"{str(found.__module__).partition('@')[0]}:{found.__qualname__}"


def objects_in(file: Path) -> list[str]:
    """Return the names of a file's public classes, functions and variables assigned from a call; run no code."""
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
