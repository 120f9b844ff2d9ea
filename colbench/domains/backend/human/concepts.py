"""Concepts: the kinds of questions that a piece of code answers, and the words used in such questions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from colbench.domains.backend.human.series import called
from colbench.facts.words import EMPTY_WORDS, WORD, stem

ASKED_WITH = {
    "threshold": "threshold thresholds limit minimum maximum least cutoff above below over under "
    "exceed exceeds decide decided determine determined range boundary eligible eligibility qualify "
    "qualifies criteria criterion condition conditions",
    "formula": "calculate calculated calculation calculating compute computed formula derive equation "
    "method combine combined determine determined",
    "rate": "rate rates percent percentage percentages multiplier multipliers factor factors weight "
    "weights weighting coefficient ratio proportion discount discounts bonus surcharge penalty",
    "round": "round rounded rounding decimal decimals precision",
    "sort": "sort sorted sorting order ordered ordering rank ranked ranking ascending descending ties",
    "error": "error errors invalid exception raise fail failure unknown unrecognized unsupported "
    "unexpected edge validate validation validated",
    "empty": "empty none null missing blank absent zero negative division divide nonexistent",
    "default": "default defaults otherwise else optional fallback omitted unspecified neither none",
    "return": "return returned returns output outputs result results produce",
    "type": "type types format formatted structure structured dictionary list tuple string boolean "
    "number integer float text datatype shape represented look looks",
    "input": "input inputs parameter parameters argument arguments field fields key keys column columns",
    "case": "sensitive insensitive lowercase uppercase casing capitalization capitalized",
    "filter": "filter filtered filtering exclude excluded include included keep kept skip ignore",
    "count": "count counted counting frequency occurrences many",
    "average": "average averaged mean",
    "total": "total sum summed add added aggregate aggregated",
    "extreme": "highest lowest best worst largest smallest top most",
    "table": "table values categories options supported mapping lookup names list constants possible",
    "label": "label labels category categories classification",
    "random": "random randomly randomness",
    "start": "start starting initial initially begin base baseline",
}
SPECIFIC = frozenset({"round", "sort", "case", "random", "error", "empty"})
"""Concepts so specific that a fact about something else does not answer a question about them."""
CONCEPTS: dict[str, frozenset[str]] = {}
for _concept, _words in ASKED_WITH.items():
    for _word in _words.split():
        CONCEPTS[stem(_word)] = CONCEPTS.get(stem(_word), frozenset()) | {_concept}

HARDLY_TELLING = frozenset(
    """
    what when with that this from have should would could does will function return which where they
    them your into than then code python number value values input inputs output result results
    parameter parameters give given make need want like also each every other exactly specific please
    calculate handle used using there
    """.split()  # noqa: SIM905 - one readable block
)

BY_CALL = {
    "round": ("round",),
    "ceil": ("round",),
    "floor": ("round",),
    "int": ("round",),
    "sorted": ("sort",),
    "sort": ("sort",),
    "lower": ("case",),
    "upper": ("case",),
    "casefold": ("case",),
    "len": ("count",),
    "count": ("count",),
    "sum": ("total",),
    "max": ("extreme",),
    "min": ("extreme",),
    "choice": ("random",),
    "random": ("random",),
    "mean": ("average",),
}
ERROR_WORDS = (
    "invalid",
    "error",
    "not found",
    "unknown",
    "cannot",
    "must be",
    "unsupported",
    "n/a",
)


def telling(text: str) -> list[str]:
    """Return the stems of the words that distinguish a text from other texts.

    Most longer words are included even if they are common ("current"), because they may distinguish two variables.
    """
    return [
        stem(word)
        for word in WORD.findall(text.lower())
        if word not in EMPTY_WORDS or (len(word) > 3 and word not in HARDLY_TELLING)
    ]


def asked(text: str) -> dict[str, frozenset[str]]:
    """Return the concepts that the words of a question can stand for, keyed by the word's stem."""
    stems = (stem(word) for word in WORD.findall(text.lower()))
    return {one: CONCEPTS[one] for one in stems if one in CONCEPTS}


def concepts_of(nodes: Sequence[ast.AST], tests: Sequence[ast.AST] = ()) -> frozenset[str]:
    """Return the concepts (kinds of questions) of `nodes` and of `tests`, the conditions under which the nodes run."""
    inside = [part for root in nodes for part in ast.walk(root)]
    around = [part for root in tests for part in ast.walk(root)]
    found = {concept for part in inside for concept in _of_node(part)}
    found |= {concept for part in (*inside, *around) for concept in _of_test(part)}
    found |= {concept for node in nodes for concept in _of_statement(node)}
    return frozenset(found)


def _of_node(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.BinOp() if not _is_text(node):
            yield from _of_arithmetic(node)
        case ast.comprehension(ifs=[_, *_]):
            yield from ("filter", "threshold")
        case ast.Constant(value=str(text)) if any(word in text.lower() for word in ERROR_WORDS):
            yield "error"
        case ast.IfExp():
            yield "default"


def _of_arithmetic(node: ast.BinOp) -> Iterator[str]:
    yield "formula"
    if isinstance(node.op, ast.Mult | ast.Div):
        if isinstance(node.left, ast.Constant) or isinstance(node.right, ast.Constant):
            yield "rate"
        if isinstance(node.left, ast.Call) and called(node.left.func) == "sum":
            yield "average"


def _is_text(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node)
    )


def _of_test(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Compare(comparators=[ast.Constant(value=None)]):
            yield from ("empty", "default")
        case ast.Compare(ops=[op], comparators=[ast.Constant(value=0)]):
            yield "threshold"
            if isinstance(op, ast.Eq | ast.LtE | ast.Lt):
                yield from ("empty", "error")
        case ast.Compare(ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE(), *_]):
            yield "threshold"
        case ast.UnaryOp(op=ast.Not()):
            yield "empty"
        case ast.ExceptHandler():
            yield "error"
        case ast.Call():
            yield from BY_CALL.get(called(node.func).rpartition(".")[2], ())


def _of_statement(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Raise() | ast.Assert():
            yield "error"
        case ast.Return(value=value):
            yield "return"
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield "label"
        case ast.AugAssign(op=op):
            yield "formula"
            yield "rate" if isinstance(op, ast.Mult | ast.Div) else "total"
        case ast.Assign(value=value):
            yield from _of_value(value)
        case ast.Continue():
            yield "filter"


def _of_value(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Constant(value=int() | float() as number):
            yield from ("rate", "table") if number else ("start",)
        case ast.Constant(value=str()):
            yield "label"
        case ast.Dict(keys=[_, *_]) | ast.List(elts=[_, *_]):
            yield from ("table", "rate")
