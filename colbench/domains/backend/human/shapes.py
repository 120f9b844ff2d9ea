"""Inputs and outputs of the reference: the default, shape and possible values of each parameter; kinds of results."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from colbench.domains.backend.human.conditions import is_test
from colbench.domains.backend.human.names import be, listed, quoted, spoken, the
from colbench.domains.backend.human.words import Speaker

Function = ast.FunctionDef | ast.AsyncFunctionDef
Shape = tuple[str, tuple[ast.AST, ...], frozenset[str]]
"""A clause, the nodes that it describes, and the kinds of questions (concepts) that it answers."""
TEXT_METHODS = ("lower", "upper", "strip", "split", "startswith", "endswith", "replace", "encode")
METHOD_KINDS = {
    **dict.fromkeys(TEXT_METHODS, "a text"),
    **dict.fromkeys(("items", "keys", "values", "get"), "a dictionary"),
}
NUMERIC = ast.Sub | ast.Mult | ast.Div | ast.Pow | ast.FloorDiv
MOST = 8


def defaults(function: Function) -> Iterator[Shape]:
    """Yield a clause on the default value of each parameter that has a default value."""
    for parameter, value in _with_default(function.args):
        subject = the(parameter.arg)
        if isinstance(value, ast.Constant) and value.value is None:
            clause = f"{subject} {be(subject)} optional"
        else:
            clause = f"if not given, {subject} {be(subject)} {Speaker().say(value)}"
        yield clause, (parameter, value), frozenset({"default", "input"})


def _with_default(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    positional, given = [*arguments.posonlyargs, *arguments.args], arguments.defaults
    yield from zip(positional[len(positional) - len(given) :], given, strict=True)
    for parameter, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            yield parameter, value


def inputs(function: Function) -> Iterator[Shape]:
    """Yield clauses on each parameter's type and possible values, as far as the code shows them."""
    arguments = function.args
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        subject = the(parameter.arg)
        shape = _shape(function, parameter.arg)
        if shape:
            clause = f"you give {subject} as {shape}"
            yield clause, (parameter,), frozenset({"type", "input"})
        values = _compared(function, parameter.arg)
        if len(values) > 1:
            clause = f"{subject} can be {listed(values[:MOST], 'or')}"
            yield clause, (parameter,), frozenset({"input", "table", "label"})


def outputs(function: Function) -> Iterator[Shape]:
    """Yield a clause on the texts or kinds of values that the function returns, if the code shows them."""
    values = [value for value in _returned(function) if value is not None]
    kinds = list(dict.fromkeys(_kind(value, function) for value in values))
    labels = list(dict.fromkeys(_labels(values)))
    if len(labels) > 1 and len(labels) <= MOST and len(kinds) == 1:
        clause = f"it returns {listed(labels, 'or')}"
        yield clause, (), frozenset({"return", "type", "label"})
    elif kinds and all(kinds):
        telling = len(values) == 1 and not isinstance(values[0], ast.Name)
        concepts = {"type"} if telling else {"return", "type"}
        yield f"it returns {listed(kinds, 'or')}", (), frozenset(concepts)


def _in_order(function: Function) -> list[ast.AST]:
    """Return a function's expressions and statements in source order, then the `for` clauses of its comprehensions."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.expr | ast.stmt)]
    loops = [node for node in ast.walk(function) if isinstance(node, ast.comprehension)]
    return [*sorted(nodes, key=lambda node: (node.lineno, node.col_offset)), *loops]


def _returned(function: Function) -> Iterator[ast.expr | None]:
    inner = {
        id(part)
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        and node is not function
        for part in ast.walk(node)
    }
    for node in _in_order(function):
        if isinstance(node, ast.Return) and id(node) not in inner:
            yield node.value


def _labels(values: list[ast.expr]) -> Iterator[str]:
    for value in values:
        for part in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield quoted(part.value)


def _kind(value: ast.expr, function: Function, depth: int = 0) -> str:
    match value:
        case ast.IfExp(body=body):
            return _kind(body, function, depth)
        case ast.Name(id=name) if depth < 2:
            return _kind_of_variable(name, function, depth)
        case ast.BoolOp(values=values):
            kinds = {_kind(part, function, depth) for part in values} - {""}
            return kinds.pop() if len(kinds) == 1 else ""
        case ast.Call():
            return _kind_of_call(value)
        case ast.BinOp(op=op) if isinstance(op, NUMERIC):
            return "a number"
        case _:
            return _kind_of_literal(value)


def _kind_of_call(call: ast.Call) -> str:
    if is_test(call):
        return "True or False"
    return CALL_KINDS.get(call.func.id, "") if isinstance(call.func, ast.Name) else ""


def _kind_of_literal(value: ast.expr) -> str:
    match value:
        case ast.Constant(value=constant):
            return CONSTANT_KINDS.get(type(constant), "")
        case ast.Dict(keys=keys):
            names = [quoted(text) for key in keys if (text := _text(key))]
            return f"a dictionary with {listed(names[:MOST])}" if names else "a dictionary"
        case ast.Tuple(elts=parts):
            return f"{len(parts)} values together"
        case ast.UnaryOp(op=ast.Not()):
            return "True or False"
    return NODE_KINDS.get(type(value), "")


def _text(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
    return ""


CONSTANT_KINDS: dict[type, str] = {
    bool: "True or False",
    str: "a text",
    int: "a number",
    float: "a number",
}
NODE_KINDS: dict[type, str] = {
    ast.Compare: "True or False",
    ast.JoinedStr: "a text",
    ast.DictComp: "a dictionary",
    ast.List: "a list",
    ast.ListComp: "a list",
}
CALL_KINDS = {
    **dict.fromkeys(("sum", "len", "round", "abs", "int", "float"), "a number"),
    **dict.fromkeys(("any", "all", "bool", "isinstance"), "True or False"),
    **dict.fromkeys(("sorted", "list"), "a list"),
    "str": "a text",
    "dict": "a dictionary",
    "set": "a set",
}


def _kind_of_variable(name: str, function: Function, depth: int) -> str:
    for node in _in_order(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return _kind(value, function, depth + 1)
    return ""


def _compared(function: Function, name: str) -> list[str]:
    """Return the strings that a parameter is compared with."""
    found: list[str] = []
    for node in _in_order(function):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if _is(left, name):
                found.append(_text(right))
            case ast.Compare(
                left=left, ops=[ast.In()], comparators=[ast.List(elts=many) | ast.Tuple(elts=many)]
            ) if _is(left, name):
                found.extend(map(_text, many))
    return [quoted(text) for text in dict.fromkeys(found) if text]


def _is(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="lower" | "upper" | "strip")):
            return _is(inner, name)
    return isinstance(node, ast.Name) and node.id == name


def _shape(function: Function, name: str) -> str:
    """Describe a parameter by its dictionary keys, or else by its first informative use; "" without such a use."""
    keys = _keys(function, name)
    if keys:
        return f"a dictionary with {listed(keys[:MOST])}"
    for node in _in_order(function):
        shape = _use(node, name, function)
        if shape:
            return shape
    return ""


def _use(node: ast.AST, name: str, function: Function) -> str:
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=attr) if owner == name:
            return METHOD_KINDS.get(attr, "")
        case (
            ast.For(target=target, iter=ast.Name(id=source))
            | ast.comprehension(target=target, iter=ast.Name(id=source))
        ) if source == name:
            return _list_of(target, function)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, NUMERIC):
            return "a number" if _is(left, name) or _is(right, name) else ""
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE(), *_]):
            return "a number" if _is(left, name) else ""
    return ""


def _list_of(target: ast.expr, function: Function) -> str:
    match target:
        case ast.Name(id=name):
            keys = _keys(function, name)
            whole = spoken(name) if len(name) > 2 else "item"
            return f"a list, each {whole} having {listed(keys[:MOST])}" if keys else "a list"
        case ast.Tuple(elts=parts):
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            return f"a list of {listed([spoken(n) for n in names if n.strip('_')])} together"
    return "a list"


def _keys(function: Function, name: str) -> list[str]:
    """Return the string keys that are looked up in a variable."""
    found: dict[str, None] = {}
    for node in _in_order(function):
        match node:
            case (
                ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(key)))
                | ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr="get"),
                    args=[ast.Constant(value=str(key)), *_],
                )
            ) if owner == name:
                found[quoted(key)] = None
    return list(found)
