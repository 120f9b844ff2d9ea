"""Resolution of a spec, the value of a flag such as `--agent`, to an agent, a human or a task source.

The spec of a task source is a task file or NAME:ARGUMENT. The forms of other specs are tried in this order:
  NAME or NAME:ARGUMENT      an entry point, as in the group `colbench.agents`; its factory gets ARGUMENT
  path/to/file.py:attribute  a Python file
  package.module:attribute   an importable module
The object that `--agent` names may be an agent, an object of an agent framework, or a function of the messages. An
adapter of the group `colbench.frameworks` turns a framework's object or a function into an agent. The object may also
be a class or function that builds any of these.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal

from colbench import plugin_arguments, plugin_files
from colbench.config import ArgValue
from colbench.config_errors import did_you_mean, did_you_mean_path
from colbench.errors import UserError, describe_exception
from colbench.interfaces import Design, Origin
from colbench.task import Task, distinguish, read_tasks
from colbench.version import PACKAGES

Kind = Literal["agent", "human", "tasks"]
GROUPS: dict[Kind, str] = {
    "agent": "colbench.agents",
    "human": "colbench.humans",
    "tasks": "colbench.tasks",
}
DESIGNS = "colbench.designs"
ORIGINS = "colbench.origins"
FRAMEWORKS = "colbench.frameworks"
"""Group of the adapters that turn other objects into agents. The entry point PACKAGE.CLASS adapts objects of this
class; the entry point `callable` adapts any callable."""
OWN = frozenset(
    {"colbench", "colbench_agents", "colbench_leaderboard", "colbench_tasks", "colbench_verifiers"}
)
"""ColBench's own packages. No hash of their files is recorded, because the version of ColBench determines them."""
MODULE = re.compile(r"[A-Za-z_][\w.]*")
NO_LINES = (".parquet", ".gz")
"""Suffixes of task files that are not JSON lines; the source `file` reads them."""
FORMS = {
    "azure": "azure:DEPLOYMENT or azure:DEPLOYMENT@URL",
    "cmd": "cmd:COMMAND",
    "http": "http://HOST:PORT",
    "https": "https://HOST:PORT",
    "local": "local:MODEL_OR_PATH",
    "openai": "openai:MODEL or openai:MODEL@URL",
    "vllm": "vllm:MODEL_OR_PATH",
}
"""Forms of the specs in which text must follow the name and a colon."""
REQUIRED = {"agent": "reply", "human": "respond"}
DEFINE = {
    "agent": "`async def reply(self, dialogue)`, or `open(self, episode)`; see agents/README.md",
    "human": "`async def respond(self, task, dialogue)`; see docs/frontend.md",
}


def resolve(kind: Kind, spec: str, args: Mapping[str, ArgValue]) -> Any:
    """Build the agent or human that a spec names, with `args`.

    Raises UserError if the spec is unknown, or if the object cannot be imported, does not accept the arguments, cannot
    be built, or is not an agent or a human (`require_method`).
    """
    found, positional, module = _find(kind, spec)
    if callable(found) and not (kind == "agent" and _is_agent(found, positional, args)):
        found, args = _build(kind, spec, found, positional, args), {}
    plugin = _adapted(spec, found, module, args) if kind == "agent" else found
    require_method(kind, plugin, f"--{kind} {spec}")
    return plugin


def is_foreign(kind: Kind, spec: str) -> bool:
    """Return True if a spec names a file, a module or an entry point that is not ColBench's own."""
    name = spec.partition(":")[0]
    point = _entry_points(kind).get(name)
    if point is not None:
        return point.dist is None or point.dist.name != "colbench"
    place = spec.rpartition(":")[0]
    if place.endswith(".py"):
        return Path(place).expanduser().is_file()
    return bool(MODULE.fullmatch(place)) and place.partition(".")[0] not in PACKAGES


def files_of(kind: Kind, spec: str) -> list[Path]:
    """Return the file or the package folders that a spec names, without importing them; empty if nothing is found."""
    name, place = spec.partition(":")[0], spec.rpartition(":")[0]
    point = _entry_points(kind).get(name)
    if point is None and place.endswith(".py"):
        return [Path(place).expanduser().absolute()]
    package = (point.module if point else place).partition(".")[0]
    found = importlib.machinery.PathFinder.find_spec(package, ["", *sys.path])
    if found is None:
        return []
    return [Path(each) for each in found.submodule_search_locations or [found.origin or ""]]


def require_method(kind: Kind, plugin: object, place: str) -> None:
    """Raise UserError, which begins with `place`, unless `plugin` is an instance with the async method of `kind`."""
    method = REQUIRED[kind]
    if isinstance(plugin, type):
        raise UserError(f"{place}: {_name(plugin)} is a class; pass an instance")
    speak = getattr(plugin, method, None)
    if not (speak or (kind == "agent" and hasattr(plugin, "open"))):
        hint = (
            "; an agent function takes the messages as a parameter without a default"
            if kind == "agent" and isinstance(plugin, str)
            else f"; define {DEFINE[kind]}"
        )
        raise UserError(f"{place}: {_name(plugin)} has no method `{method}`{hint}")
    if inspect.isasyncgenfunction(speak):
        raise UserError(
            f"{place}: `{method}` of {_name(plugin)} must return one message; replace `yield` with `return`"
        )
    if inspect.ismethod(speak) and not inspect.iscoroutinefunction(speak):
        raise UserError(f"{place}: `{method}` of {_name(plugin)} must be `async def`")


def resolve_tasks(spec: str, malformed: list[str] | None = None) -> list[Task]:
    """Load the tasks of a source: a task file, or `NAME:ARGUMENT` of the entry-point group `colbench.tasks`.

    Raises UserError if the source does not exist. Raises DataError if a row is malformed. But if a list `malformed` is
    given and the source supports this, malformed rows are left out and named in the list.
    """
    path = Path(spec).expanduser()
    if path.is_dir():
        raise UserError(f"--tasks {spec}: this is a folder; choose a task file in it")
    if path.is_file() and path.suffix not in NO_LINES:
        return read_tasks(path, malformed=malformed)
    name, colon, argument = (f"file:{path}" if path.is_file() else spec).partition(":")
    source = _entry_points("tasks").get(name)
    if source is None:
        known = ", ".join(f"{known}:…" for known in sorted(_entry_points("tasks")))
        hint = did_you_mean(
            name, _entry_points("tasks"), colon + argument, then=f"sources are {known}"
        )
        raise UserError(f"--tasks {spec}: neither a file nor a known source{hint}")
    load = _load(f"--tasks {spec}", source.load)
    takes_list = "malformed" in inspect.signature(load).parameters
    tasks: list[Task] = load(argument, malformed) if takes_list else load(argument)
    return distinguish(tasks)


def known_origin(spec: str) -> Origin | None:
    """Return the origin of a source's tasks; None if the source is a task file or does not state an origin."""
    name, _, argument = spec.partition(":")
    points = entry_points(group=ORIGINS, name=name)
    if not points or Path(spec).expanduser().is_file():
        return None
    origin: Origin = next(iter(points)).load()(argument)
    return origin


def find_design(task: Task) -> Design | None:
    """Return the design of a task, with the author's choices; None if no installed package knows the task."""
    return next(filter(None, (find(task) for find in _design_finders())), None)


@cache
def _design_finders() -> tuple[Callable[[Task], Design | None], ...]:
    return tuple(point.load() for point in entry_points(group=DESIGNS))


def names(kind: Kind) -> list[str]:
    """Return the installed names of agents, humans or task sources."""
    return sorted(_entry_points(kind))


def location(kind: Kind, name: str) -> str:
    """Return the target of the entry point with this name, as `module:attribute`."""
    return _entry_points(kind)[name].value


def explain(kind: Kind, spec: str) -> tuple[str, dict[str, str]]:
    """Return the documentation of the object that a spec names, and its arguments for `--agent-arg` or `--human-arg`.

    See `plugin_arguments.defaults` for the values of the arguments. Raises UserError if the object does not exist or
    cannot be imported.
    """
    found, _, _ = _find(kind, spec)
    text = inspect.getdoc(found) or "(no description)"
    if not callable(found):
        return text, {}
    return text, plugin_arguments.defaults(found, registered=_is_registered(kind, spec))


def describe(plugin: object) -> dict[str, str]:
    """Return a plug-in's entries in the run's record: class, hash of the source, and the result of its `describe`.

    ColBench's own plug-ins have no hash. Raises UserError if the plug-in's `describe` fails.
    """
    source = {} if _name(plugin).partition(".")[0] in OWN else _source_hash(plugin)
    return {"class": _name(plugin), **source, **_own_words(plugin, "describe")}


def describe_domain(plugin: object, domain: str) -> dict[str, str]:
    """Return a plug-in's description for tasks of one domain, such as the hash of its prompt.

    Raises UserError if its `describe_domain` fails.
    """
    return _own_words(plugin, "describe_domain", domain)


def _own_words(plugin: object, method: str, *args: str) -> dict[str, str]:
    say = getattr(plugin, method, None)
    try:
        said = say(*args) if say else {}
        return {str(key): str(value) for key, value in said.items()}
    except UserError:
        raise
    except Exception as cause:
        raise UserError(f"{_name(plugin)}: {method} failed\n{describe_exception(cause)}") from cause


def _source_hash(plugin: object) -> dict[str, str]:
    module = sys.modules.get(type(plugin).__module__)
    file = getattr(module, "__file__", None)
    if not file:
        return {}
    return {"source": plugin_files.source_hash(Path(file))}


def _entry_points(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUPS[kind])}


def _is_registered(kind: Kind, spec: str) -> bool:
    return spec.partition(":")[0] in _entry_points(kind)


def _find(kind: Kind, spec: str) -> tuple[Any, list[str], str]:
    """Return the object that a spec names, the arguments in the spec, and the name of its module."""
    name, colon, rest = spec.partition(":")
    point = _entry_points(kind).get(name)
    if point is not None:
        return _load(f"--{kind} {spec}", point.load), [rest] if colon else [], point.module
    left, _, attribute = spec.rpartition(":")
    if not left and attribute.endswith(".py") and Path(attribute).expanduser().is_file():
        raise UserError(f"--{kind} {spec}: {_choice(kind, spec)}")
    if left.endswith(".py"):
        _require_file(f"--{kind} {spec}", Path(left).expanduser())
    else:
        _require_module(kind, spec, left)
    module = _load(f"--{kind} {spec}", lambda: _module(left))
    if not hasattr(module, attribute):
        hint = did_you_mean(attribute, vars(module), then=_defined(left))
        raise UserError(f"--{kind} {spec}: {left} has no `{attribute}`{hint}")
    return getattr(module, attribute), [], module.__name__


def _choice(kind: Kind, file: str) -> str:
    """Return advice for a spec that is only a file: the file's only agent or human, or a list of what it defines."""
    methods = {REQUIRED[kind], "open"} if kind == "agent" else {REQUIRED[kind]}
    found = plugin_files.classes_in(Path(file).expanduser(), methods)
    if len(found) == 1:
        return f"choose the {kind} with {file}:{found[0]}"
    defined = _defined(file)
    return f"choose the {kind} with {file}:NAME" + (f"; {defined}" if defined else "")


def _defined(place: str) -> str:
    """Return which objects a file defines; "" if it defines none, or if the place is not a file."""
    objects = plugin_files.objects_in(Path(place).expanduser()) if place.endswith(".py") else []
    return f"the file defines {', '.join(objects)}" if objects else ""


def _require_file(flag: str, file: Path) -> None:
    if not file.is_file():
        hint = did_you_mean_path(file, file.parent.glob("*.py"))
        raise UserError(f"{flag}: the file {file.resolve()} does not exist{hint}")


def _is_agent(
    found: Callable[..., Any], positional: list[str], args: Mapping[str, ArgValue]
) -> bool:
    """Return True if a callable is the agent, False if it builds the agent.

    A function is the agent if the messages are its only missing argument.
    """
    if isinstance(found, type):
        return False
    if _speaks(found) or _framework(found):
        return True
    lacks_one = _takes(found, ["messages"], args) and not _takes(found, [], args)
    return lacks_one and not positional


def _takes(function: Callable[..., Any], positional: list[Any], args: Mapping[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(*positional, **args)
    except (TypeError, ValueError):
        return False
    return True


def _speaks(plugin: object) -> bool:
    return hasattr(plugin, "reply") or hasattr(plugin, "open")


def _framework(found: object) -> EntryPoint | None:
    """Return the adapter for an object, found by the object's class names, so that no framework is imported."""
    points = _adapters()
    classes = type(found).__mro__
    kinds = (f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in classes)
    return next((points[kind] for kind in kinds if kind in points), None)


def _function(found: object) -> EntryPoint | None:
    return _adapters().get("callable") if callable(found) else None


def _adapters() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=FRAMEWORKS)}


def _adapted(spec: str, found: Any, module: str, args: Mapping[str, ArgValue]) -> Any:
    """Wrap a function or a framework's object in an agent; an object that already is an agent is returned unchanged."""
    point = None if _speaks(found) else _framework(found) or _function(found)
    make = _load(f"--agent {spec}", point.load) if point else None
    file = getattr(sys.modules.get(module), "__file__", None)
    if args and not (make and _takes(make, [found, file], args)):
        raise UserError(
            f"--agent {spec}: {_name(found)} is an instance and takes no --agent-arg or "
            "--agent-prompt; use a class or a factory function"
        )
    return _build("agent", spec, make, [found, file], args) if make else found


def _require_module(kind: Kind, spec: str, module: str) -> None:
    """Make modules of the current folder importable. Raise UserError if the module's top package cannot be found."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    top = module.partition(".")[0]
    if MODULE.fullmatch(module) and (top in sys.modules or importlib.util.find_spec(top)):
        return
    name, colon, rest = spec.partition(":")
    shown = [f"{each}:…" if each in FORMS else each for each in names(kind)]
    advice = (
        f"installed: {', '.join(shown)}; for a model, write openai:MODEL or vllm:MODEL; or use "
        "file.py:attribute or module:attribute"
    )
    if "@http" in name:
        hint = did_you_mean("openai", ["openai"], f":{spec}", then=advice)
    else:
        hint = did_you_mean(name, names(kind) if colon else shown, colon + rest, then=advice)
    raise UserError(f"--{kind} {spec}: unknown, and not a Python module{hint}")


def _module(where: str) -> Any:
    is_file = where.endswith(".py")
    return plugin_files.import_file(Path(where)) if is_file else importlib.import_module(where)


def _load(flag: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except (Exception, SystemExit) as cause:
        raise UserError(f"{flag}: the import failed\n{describe_exception(cause)}") from cause


def _build(
    kind: Kind,
    spec: str,
    factory: Callable[..., Any],
    positional: list[Any],
    args: Mapping[str, ArgValue],
) -> Any:
    flag, registered = f"--{kind}", _is_registered(kind, spec)
    plugin_arguments.require_known(flag, spec, factory, args, registered=registered)
    plugin_arguments.require_fitting(flag, factory, args)
    if not positional and spec in FORMS:
        raise UserError(f"{flag} {spec}: write {FORMS[spec]}")
    try:
        inspect.signature(factory).bind(*positional, **args)
    except TypeError as cause:
        usage = plugin_arguments.describe_usage(flag, spec, factory, registered=registered)
        raise UserError(f"{flag} {spec}: {cause}; {usage}") from cause
    try:
        return factory(*positional, **args)
    except UserError as cause:
        raise UserError(plugin_arguments.with_flag(flag, spec, args, str(cause))) from cause
    except (Exception, SystemExit) as cause:
        raise UserError(
            f"{flag} {spec}: building it failed\n{describe_exception(cause)}"
        ) from cause


def _name(plugin: object) -> str:
    return plugin_files.name_of(plugin if isinstance(plugin, type) else type(plugin))
