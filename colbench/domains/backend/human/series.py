"""Code that handles many items at once, as a person would describe it: counts, sums, sorting, comprehensions, loops."""

from __future__ import annotations

import ast
from collections.abc import Callable

from colbench.domains.backend.human.names import is_plural, listed, quoted, singular
from colbench.domains.backend.human.speech import Says

ORDINALS = {0: "first", 1: "second", 2: "third", 3: "fourth", 4: "fifth", -1: "last"}
POSITION = "the position (counting from {})"
FROM_ZERO, FROM_ONE = POSITION.format(0), POSITION.format(1)
SHORT_NAME = 2
"""Maximum length of a variable's name that counts as too short to mean anything."""


def called(func: ast.expr) -> str:
    """Return the dotted name of a called function; `result` if the function is neither a name nor an attribute.

    The name of a method begins with a dot if its object is not a variable.
    """
    if isinstance(func, ast.Attribute):
        owner = func.value.id + "." if isinstance(func.value, ast.Name) else "."
        return owner + func.attr
    return func.id if isinstance(func, ast.Name) else "result"


def _length(speaker: Says, node: ast.Call) -> str:
    phrase = speaker.say(node.args[0])
    if isinstance(node.args[0], ast.ListComp) or is_plural(phrase):
        return f"the number of {phrase.removeprefix('the ')}"
    if phrase.startswith("the different "):
        return f"the number of {phrase.removeprefix('the ')}"
    return f"the length of {phrase}"


def _sum(speaker: Says, node: ast.Call) -> str:
    total = _total(speaker, node.args[0])
    start = _argument(node, 1, "start")
    return f"{total}, starting at {speaker.say(start)}" if total and start else total


def _total(speaker: Says, source: ast.expr) -> str:
    if not isinstance(source, ast.GeneratorExp | ast.ListComp) or len(source.generators) != 1:
        return ""
    part = source.generators[0]
    inner = speaker.loop(part.target, part.iter)
    where = _where(inner, part)
    if isinstance(source.elt, ast.Constant) and source.elt.value == 1:
        return f"the number of {speaker.bare(part.iter)}{where}"
    if _is_plain_filter(source):
        return f"the sum of {speaker.say(part.iter)}{where}"
    over = for_each(speaker, part.target, part.iter).removeprefix("for ")
    return f"the sum of {inner.say(source.elt)} over {over}{where}"


def _argument(node: ast.Call, place: int, name: str) -> ast.expr | None:
    """Return the argument of a call at position `place` or with the keyword `name`; None if the call has neither."""
    named = (word.value for word in node.keywords if word.arg == name)
    return node.args[place] if len(node.args) > place else next(named, None)


def _extreme(speaker: Says, node: ast.Call) -> str:
    other = next((word.value for word in node.keywords if word.arg == "default"), None)
    said = _most(speaker, node)
    return f"{said} ({speaker.say(other)} if there is none)" if other else said


def _most(speaker: Says, node: ast.Call) -> str:
    most = "largest" if called(node.func) == "max" else "smallest"
    key = next((word.value for word in node.keywords if word.arg == "key"), None)
    if key is not None:
        by = _key(speaker, node.args[0], key)
        return f"the one of {speaker.say(node.args[0])} with the {most} {by}"
    if len(node.args) == 2:
        other = "larger" if most == "largest" else "smaller"
        return f"the {other} of {listed(speaker.each(node.args))}"
    return f"the {most} of {listed(speaker.each(node.args))}"


def ordinal(place: int) -> str:
    """Return the ordinal of an index, such as "first" for 0; negative indexes count from the end."""
    later = f"number {place + 1}" if place >= 0 else f"number {-place} from the end"
    return ORDINALS.get(place, later)


def _key(speaker: Says, source: ast.expr, key: ast.expr) -> str:
    """Describe the key function of max, min and sorted."""
    if isinstance(key, ast.Attribute) and key.attr == "get":
        return "value"
    match key:
        case ast.Lambda(body=ast.Subscript(value=ast.Name(), slice=ast.Constant(value=int(place)))):
            entries = "items()" in ast.unparse(source)
            return ("name", "value")[place] if entries and place < 2 else f"{ordinal(place)} value"
        case ast.Lambda(body=ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str(name)))):
            return quoted(name)
    return speaker.say(key).removeprefix("the ")


def sorting(speaker: Says, node: ast.Call, sorted_thing: ast.expr) -> str:
    """Describe how something is sorted: by which key, and in which direction."""
    words = {word.arg: word.value for word in node.keywords}
    by = f" by {_key(speaker, sorted_thing, words['key'])}" if "key" in words else ""
    match words.get("reverse", ast.Constant(False)):
        case ast.Constant(value=downwards):
            return f"{by}, {'highest' if downwards else 'lowest'} first"
        case turn:
            return f"{by}, highest first if {speaker.state(turn)}, otherwise lowest first"


def _sorted(speaker: Says, node: ast.Call) -> str:
    return f"{speaker.say(node.args[0])} sorted{sorting(speaker, node, node.args[0])}"


def _where(speaker: Says, part: ast.comprehension) -> str:
    tests = [speaker.state(test) for test in part.ifs]
    return f" where {' and '.join(tests)}" if tests else ""


Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


def comprehension(speaker: Says, node: Comprehension) -> str:
    """Describe a comprehension: its elements, its loops and its conditions."""
    if not isinstance(node, ast.DictComp) and _is_plain_filter(node):
        part = node.generators[0]
        return f"the {speaker.bare(part.iter)}{_where(speaker.loop(part.target, part.iter), part)}"
    loops = []
    for part in node.generators:
        phrase = for_each(speaker, part.target, part.iter)
        speaker = speaker.loop(part.target, part.iter)
        loops.append(f"{phrase}{_where(speaker, part)}")
    if isinstance(node, ast.DictComp):
        what = f"a dictionary from {speaker.say(node.key)} to {speaker.say(node.value)}"
    else:
        what = speaker.say(node.elt)
    return f"{what}, {', '.join(loops)}"


def _is_plain_filter(node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> bool:
    part = node.generators[0]
    return len(node.generators) == 1 and ast.unparse(node.elt) == ast.unparse(part.target)


def for_each(speaker: Says, target: ast.expr, source: ast.expr) -> str:
    """Phrase the head of a loop: "for each name and weight in the entries"."""
    inner = speaker.loop(target, source)
    match source, target:
        case ast.Call(func=ast.Name(id="enumerate"), args=[counted, *_]), ast.Tuple(elts=[_, item]):
            return for_each(inner, item, counted)
        case ast.Call(func=ast.Attribute(value=table, attr="items" | "values" | "keys")), _:
            return f"for each {_variables(inner, target)} in {speaker.say(table)}"
        case ast.Call(
            func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[many])]
        ), _:
            return f"for each position in {speaker.say(many)}"
    return f"for each {_variables(inner, target)} in {speaker.say(source)}"


def _variables(speaker: Says, target: ast.expr) -> str:
    if isinstance(target, ast.Tuple):
        return listed([_variables(speaker, part) for part in target.elts if not _unused(part)])
    return speaker.bare(target).removeprefix("that ")


def _unused(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and not target.id.strip("_")


def loop_names(speaker: Says, target: ast.expr, source: ast.expr) -> dict[str, str]:
    """Return phrases for a loop's variables with short names, such as `i`, and for the counter of `enumerate`."""
    match source, target:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]), ast.Tuple(
            elts=[ast.Name(id=name), item]
        ):
            start = _argument(source, 1, "start")
            position = POSITION.format(speaker.say(start)) if start else FROM_ZERO
            return {name: position, **loop_names(speaker, item, inner)}
        case ast.Call(func=ast.Attribute(attr="items")), ast.Tuple(
            elts=[ast.Name(id=key), ast.Name(id=value)]
        ):
            return _if_short({key: "the name", value: "the value"})
        case ast.Call(func=ast.Name(id="range")), ast.Name(id=name):
            taken = "that position" in speaker.names.values()
            return _if_short({name: "the other position" if taken else "that position"})
        case _, ast.Name(id=name):
            return _if_short({name: f"the {_element(speaker, source)}"})
    return {}


def _if_short(names: dict[str, str]) -> dict[str, str]:
    return {name: phrase for name, phrase in names.items() if len(name) <= SHORT_NAME}


def _element(speaker: Says, source: ast.expr) -> str:
    phrase = speaker.bare(source) if isinstance(source, ast.Name) else ""
    return singular(phrase) if is_plural(phrase) else "item"


SPECIAL: dict[str, Callable[[Says, ast.Call], str]] = {
    "len": _length,
    "sum": _sum,
    "max": _extreme,
    "min": _extreme,
    "sorted": _sorted,
}
"""Names of functions whose calls need more than a template, each with a function that describes such a call.

The description is "" if the function cannot describe the call.
"""
