"""The installed domains, by their entry points of the group `colbench.domains`."""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from colbench.domain import Domain
from colbench.errors import UserError, describe_exception

GROUP = "colbench.domains"
REQUIRED = ("name", "title", "metrics", "defaults")
"""Attributes that a domain must set."""


def domain_names() -> list[str]:
    """Return the names of the installed domains, in alphabetical order."""
    return sorted({point.name for point in entry_points(group=GROUP)})


@cache
def installed_domains() -> tuple[Domain, ...]:
    """Return the installed domains in alphabetical order, without those that cannot be loaded.

    A package with a mistake must not stop runs of other domains, so it is just logged.
    """
    found = []
    for name in domain_names():
        try:
            found.append(get_domain(name))
        except UserError as error:
            logging.getLogger("colbench").warning("%s", error)
    return tuple(found)


@cache
def get_domain(name: str) -> Domain:
    """Return the domain of this name.

    Raises UserError if none is installed, or if it cannot be loaded or lacks something.
    """
    point = _entry_point(name)
    try:
        domain: Domain = point.load()()
    except Exception as cause:
        raise UserError(
            f"the domain `{name}` of {point.value} cannot be loaded\n{describe_exception(cause)}"
        ) from cause
    flaw = _flaw(domain, name)
    if flaw:
        raise UserError(f"the domain `{name}`: {point.value} {flaw}; see docs/new-domain.md")
    return domain


def require_mode(name: str, mode: str) -> None:
    """Raise UserError, with those that it has, if a domain has no such scoring mode."""
    modes = get_domain(name).modes
    if mode not in modes:
        raise UserError(f"--scoring {mode}: {name} tasks are scored in {' or '.join(modes)} mode")


def package_of(name: str) -> str:
    """Return the distribution that provides a domain and its version; "" for the domains of ColBench itself."""
    dist = _entry_point(name).dist
    return "" if dist is None or dist.name == "colbench" else f"{dist.name} {dist.version}"


def _entry_point(name: str) -> EntryPoint:
    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not points:
        raise UserError(f"unknown domain `{name}`; installed are {', '.join(domain_names())}")
    if len(points) > 1:
        raise UserError(
            f"the domain `{name}` is in several packages: {' and '.join(sorted(points))}; uninstall all but one"
        )
    return next(iter(points.values()))


def _flaw(domain: object, name: str) -> str:
    """Return what a domain lacks; "" if it is complete."""
    if not isinstance(domain, Domain):
        return "is not a subclass of colbench.Domain"
    lacking = [each for each in REQUIRED if not hasattr(domain, each)]
    if lacking:
        return f"has no `{'`, `'.join(lacking)}`"
    if domain.name != name:
        return f"has the name `{domain.name}`, which must be that of its entry point"
    if domain.modes[:1] != ("default",):
        return f"has the scoring modes {domain.modes!r}, the first of which must be `default`"
    roles = [metric.role for metric in domain.metrics]
    if roles.count("primary") != 1:
        return f"has {roles.count('primary')} metrics with the role `primary`, and must have one"
    return ""
