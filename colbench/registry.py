"""The installed domains, found by their entry points in the group `colbench.domains`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from colbench.config_errors import did_you_mean
from colbench.domain import Domain
from colbench.errors import UserError, describe_exception

GROUP = "colbench.domains"
REQUIRED = ("name", "title", "metrics", "defaults")
"""Attributes that a domain must set."""


def domain_names() -> list[str]:
    """Return the names of the installed domains, in alphabetical order."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def unknown_domain(name: str) -> str:
    """Return the error message about the name of a domain that is not installed."""
    known = domain_names()
    hint = did_you_mean(name, known, then=f"installed: {', '.join(known)}")
    return f"unknown domain `{name}`{hint}"


@cache
def installed_domains() -> tuple[Domain, ...]:
    """Return the installed domains in alphabetical order, without domains that cannot be loaded.

    A faulty package must not stop runs of other domains, so its error is only logged.
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

    Raises UserError if the domain is not installed, is defined by several packages, cannot be loaded, lacks a required
    attribute, or has an attribute with a wrong value.
    """
    point = _entry_point(name)
    try:
        domain: Domain = point.load()()
    except Exception as cause:
        raise UserError(
            f"the domain `{name}` of {point.value} cannot be loaded\n{describe_exception(cause)}"
        ) from cause
    flaw = next(_flaws(domain, name), "")
    if flaw:
        raise UserError(f"the domain `{name}`: {point.value} {flaw}; see docs/new-domain.md")
    return domain


def require_mode(name: str, mode: str) -> None:
    """Raise UserError if a domain lacks a scoring mode; the message names the modes that it has."""
    modes = get_domain(name).modes
    if mode not in modes:
        hint = did_you_mean(mode, modes)
        raise UserError(
            f"--scoring {mode}: {name} tasks are scored in {' or '.join(modes)} mode{hint}"
        )


def package_of(name: str) -> str:
    """Return name and version of the distribution that provides a domain; "" for the domains of ColBench itself."""
    dist = _entry_point(name).dist
    return "" if dist is None or dist.name == "colbench" else f"{dist.name} {dist.version}"


def _entry_point(name: str) -> EntryPoint:
    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not points:
        raise UserError(unknown_domain(name))
    if len(points) > 1:
        raise UserError(
            f"several packages define the domain `{name}`: {' and '.join(sorted(points))}; "
            "uninstall all but one"
        )
    return next(iter(points.values()))


def _flaws(domain: object, name: str) -> Iterator[str]:
    """Yield the errors of a domain, the most severe first."""
    if not isinstance(domain, Domain):
        yield "is not a subclass of colbench.Domain"
        return
    lacking = [each for each in REQUIRED if not hasattr(domain, each)]
    if lacking:
        yield f"has no `{'`, `'.join(lacking)}`"
        return
    if domain.name != name:
        yield f"has the name `{domain.name}`, which must equal the name of its entry point"
    if domain.modes[:1] != ("default",):
        yield f"has the scoring modes {domain.modes!r}, but the first must be `default`"
    roles = [metric.role for metric in domain.metrics]
    if roles.count("primary") != 1:
        yield f"has {roles.count('primary')} metrics with the role `primary`, but must have exactly one"
    for metric in domain.metrics:
        if metric.role == "detail":
            continue
        which = f"has the metric `{metric.name}` with the role `{metric.role}`"
        if metric.unit != "%":
            yield f"{which} and the unit `{metric.unit}`, but only the role `detail` may have a unit other than %"
        if metric.direction != "higher":
            yield f"{which} and the direction `{metric.direction}`, which only the role `detail` may have"
