"""Jinja2 templates that escape all values, and have the functions of `colbench.numbers` as filters."""

from __future__ import annotations

from inspect import isfunction

from jinja2 import Environment, PackageLoader, StrictUndefined

from colbench import numbers

FILTERS = {
    name: value
    for name, value in vars(numbers).items()
    if isfunction(value) and value.__module__ == numbers.__name__
}
"""The functions of `colbench.numbers` by name: `{{ 0.423 | percent }}`, `{{ 3 | count("task") }}`."""


def page_templates(package: str) -> Environment:
    """Return the environment of the templates in a package's folder `templates/`.

    Every value is escaped unless it is `markupsafe.Markup`. A name that is not defined is an error.
    """
    templates = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= FILTERS
    return templates
