"""Checks of a draft's code before the code is run.

The code must have one function of the requested name, and ten different calls of this function. The sources are parsed,
never executed.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence

from colbench.interfaces import Reason, RejectedError

CALLS = 10
LONGEST_CALLS = 10_000
"""Maximum total number of characters of all calls."""


def check_function(reference: str, signature: str) -> ast.FunctionDef:
    """Return the function that a reference defines.

    Raises RejectedError if the reference or the signature is not exactly one function with plain parameters, or if
    these two functions differ in name or parameters.
    """
    function = _function(reference, "the reference")
    asked = _function(f"{signature.strip().removesuffix(':')}: ...", "the signature")
    if _head(function) != _head(asked):
        raise RejectedError(
            "not_a_function",
            f"the signature is {_head(asked)}, but the reference has {_head(function)}",
        )
    return function


def check_calls(calls: Sequence[str], function: ast.FunctionDef) -> None:
    """Raise RejectedError unless there are ten different calls of the function with literal arguments.

    Calls with more than `LONGEST_CALLS` characters in total are also rejected.
    """
    if len(calls) != CALLS:
        raise RejectedError("bad_calls", f"there are {len(calls)} calls, not {CALLS}")
    if sum(map(len, calls)) > LONGEST_CALLS:
        raise RejectedError(
            "bad_calls", f"the calls together have more than {LONGEST_CALLS:,} characters"
        )
    seen: dict[str, str] = {}
    for call in calls:
        arguments = _arguments(call, function)
        if arguments in seen:
            raise RejectedError("bad_calls", f"{call} is the same call as {seen[arguments]}")
        seen[arguments] = call


def parse(source: str, reason: Reason, what: str = "the code") -> ast.Module:
    """Parse a source. Raises RejectedError with this reason, naming `what`, if the source is not valid Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        raise RejectedError(reason, f"{what} is not valid Python: {cause}") from cause


def _function(source: str, what: str) -> ast.FunctionDef:
    """Return the only function in a source.

    Raises RejectedError if the source contains anything else, or if the function has parameters that are not plain.
    """
    match parse(source, "not_a_function", what).body:
        case [ast.FunctionDef() as function]:
            given = function.args
        case _:
            raise RejectedError("not_a_function", f"{what} is not exactly one function")
    if given.defaults or given.kwonlyargs or given.vararg or given.kwarg or given.posonlyargs:
        raise RejectedError(
            "not_a_function",
            f"{what} may have only plain parameters: no defaults, `*`, `/` or `**`",
        )
    return function


def _head(function: ast.FunctionDef) -> str:
    return f"{function.name}({', '.join(_parameters(function))})"


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in function.args.args]


def _arguments(call: str, function: ast.FunctionDef) -> str:
    """Return the arguments of a call, sorted by parameter, as a text that is the same for equal calls."""
    match parse(call.strip(), "bad_calls", f"the call {call}").body:
        case [
            ast.Expr(value=ast.Call(func=ast.Name(id=function.name), args=args, keywords=keywords))
        ]:
            pass
        case _:
            raise RejectedError("bad_calls", f"{call} is not a call of {function.name}")
    names = _parameters(function)
    given = [*names[: len(args)], *(keyword.arg for keyword in keywords)]
    if len(args) > len(names) or sorted(map(str, given)) != sorted(names):
        raise RejectedError("bad_calls", f"{call} does not match {_head(function)}")
    values = [_literal(value, call) for value in (*args, *(keyword.value for keyword in keywords))]
    return str(sorted(zip(map(str, given), values, strict=True)))


def _literal(value: ast.expr, call: str) -> str:
    try:
        return repr(ast.literal_eval(value))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as cause:
        raise RejectedError("bad_calls", f"{call} has an argument that is not a literal") from cause
