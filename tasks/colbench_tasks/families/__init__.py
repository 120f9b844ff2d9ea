"""The families of backend tasks, one module each. To add one, write its module and its examples (`examples/`)."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from colbench_tasks.examples import with_examples
from colbench_tasks.family import Family


def _families() -> dict[str, Family]:
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    made = (with_examples(module.FAMILY) for module in modules)
    return {family.name: family for family in made}


FAMILIES = _families()
"""By name, in alphabetical order of their modules."""
