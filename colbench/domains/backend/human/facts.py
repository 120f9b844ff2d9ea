"""The facts of a reference: one sentence for each decision, with the words that a question about the decision may use.

The reference is parsed and never run. The sentence of a fact in a branch or loop also states the condition or the loop.
Each entry of a table (a dict literal) is a fact of its own, in addition to the whole table.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from colbench.domains.backend.human.concepts import concepts_of, telling
from colbench.domains.backend.human.matches import Unmatched
from colbench.domains.backend.human.names import as_sentence, is_plural, listed, spoken
from colbench.domains.backend.human.series import for_each
from colbench.domains.backend.human.shapes import defaults, inputs, outputs
from colbench.domains.backend.human.statements import Simple, statement
from colbench.domains.backend.human.words import Speaker
from colbench.errors import SimulatorError

LONGEST_CONTEXT = 180
LONGEST_OUTCOME = 200
MOST_TOGETHER = 2
OUTER = 0.5
"""The weight of a word of an outer condition or a table, relative to a word of the statement itself."""
TABLE_MIN = 2
TOO_DEEP = "the reference is nested too deeply to read"
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


class CodeFact(Struct, frozen=True, kw_only=True):
    """One decision of the reference."""

    sentence: str
    terms: dict[str, float]
    """Stems of the words that the fact is about, each with its weight: 1 or `OUTER`."""
    concepts: frozenset[str]
    """The kinds of questions that the fact answers; see the module `concepts`."""


class Context(Struct, frozen=True):
    """The context of a statement: a condition, "otherwise", or a loop."""

    kind: str
    """`if`, `else` (also for an exception handler) or `loop`."""
    phrase: str
    nodes: tuple[ast.AST, ...] = ()


@lru_cache(maxsize=1024)
def code_facts(source: str) -> tuple[CodeFact, ...]:
    """Return the facts of a reference, in source order.

    Raises SimulatorError if the reference cannot be read: it is not valid Python, is nested too deeply, or has code for
    which the human has no words.
    """
    tree = _parse(source)
    facts: dict[str, CodeFact] = {}
    try:
        for fact in _Reader(Speaker()).read(Unmatched().visit(tree).body, ()):
            facts.setdefault(fact.sentence, fact)
    except RecursionError as cause:
        raise SimulatorError(TOO_DEEP) from cause
    except Exception as cause:
        raise SimulatorError(
            f"the reference is code that the human cannot read: {cause!r}"
        ) from cause
    return tuple(facts.values())


def _parse(source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError) as cause:
        raise SimulatorError(f"the reference is not valid Python: {cause}") from cause
    except (RecursionError, MemoryError) as cause:  # MemoryError: the parser's stack is full
        raise SimulatorError(TOO_DEEP) from cause


class _Reader:
    """A reader that yields a fact for each decision in a reference program's statements.

    The `speaker`, which knows the loop variables in scope, puts the facts into words. `returns`: the words that
    introduce a returned value. `grown`: the variables that the function changes with augmented assignment.
    """

    def __init__(
        self, speaker: Speaker, returns: str = "it returns", grown: frozenset[str] = frozenset()
    ) -> None:
        self._speaker = speaker
        self._returns = returns
        self._grown = grown

    def read(self, body: Sequence[ast.stmt], context: tuple[Context, ...]) -> Iterator[CodeFact]:
        """Yield the facts of a block of statements; `context`: the conditions and loops around the block."""
        together: list[ast.stmt] = []
        body = _summed(body)
        for before, node in zip([None, *body], body, strict=False):
            if isinstance(node, Simple):
                if context and _fits([*together, node], self._clause):
                    together.append(node)
                    continue
                yield from self._simple(together, context)
                together = [node]
                if isinstance(node, ast.Return) and _leaves(before):
                    yield from self._simple(together, (*context, Context("else", OTHERWISE)))
                    together = []
            else:
                yield from self._simple(together, context)
                together = []
                yield from self._compound(node, context)
        yield from self._simple(together, context)

    def _compound(self, node: ast.stmt, context: tuple[Context, ...]) -> Iterator[CodeFact]:
        match node:
            case ast.If():
                yield from self._branches(node, context)
            case ast.For():
                yield from self._loop(node, context)
            case ast.While(test=test):
                phrase = f"as long as {self._speaker.state(test)}"
                yield from self.read(node.body, (*context, Context("loop", phrase, (test,))))
                yield from self.read(node.orelse, context)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._function(node, nested=bool(context))
            case ast.ClassDef(body=body) | ast.With(body=body):
                yield from self.read(body, context)
            case ast.Try():
                yield from self.read([*node.body, *node.orelse, *node.finalbody], context)
                for handler in node.handlers:
                    phrase = "if that goes wrong"
                    yield from self.read(
                        handler.body, (*context, Context("else", phrase, (handler,)))
                    )

    def _function(self, node: FUNCTION, *, nested: bool) -> Iterator[CodeFact]:
        for sentence, nodes, concepts in (*defaults(node), *inputs(node), *outputs(node)):
            yield _fact(sentence, nodes, (), concepts)
        returns = f"the {spoken(node.name)} gives" if nested else self._returns
        yield from _Reader(self._speaker, returns, _grown(node)).read(node.body, ())

    def _branches(self, node: ast.If, context: tuple[Context, ...]) -> Iterator[CodeFact]:
        tests = []
        branch: ast.If | None = node
        while branch is not None:
            tests.append(branch.test)
            under = Context("if", self._speaker.state(branch.test), (branch.test,))
            yield from self.read(branch.body, (*context, under))
            rest = branch.orelse
            branch = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
        yield from self.read(rest, (*context, self._otherwise(tests)))

    def _otherwise(self, tests: Sequence[ast.expr]) -> Context:
        if len(tests) == 1 and not isinstance(tests[0], ast.BoolOp):
            return Context("if", self._speaker.state(tests[0], negated=True), tuple(tests))
        subjects = {_equal_to(test) for test in tests}
        subject = subjects.pop() if len(subjects) == 1 else None
        phrase = f"for any other {subject}" if subject else OTHERWISE
        return Context("else", phrase, tuple(tests[:1]))

    def _loop(self, node: ast.For, context: tuple[Context, ...]) -> Iterator[CodeFact]:
        phrase = for_each(self._speaker, node.target, node.iter)
        inner = self._speaker.loop(node.target, node.iter)
        under = Context("loop", phrase, (node.target, node.iter))
        yield from _Reader(inner, self._returns, self._grown).read(node.body, (*context, under))
        yield from self.read(node.orelse, context)

    def _clause(self, node: ast.stmt, *, begins: bool = False) -> str:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name) as target], value=ast.Constant() as value
            ) if begins and name in self._grown:
                subject = self._speaker.say(target)
                start = "start" if is_plural(subject) else "starts"
                start += " as" if value.value == "" else " at"
                return f"{subject} {start} {self._speaker.say(value)}"
        return statement(node, self._speaker, self._returns)

    def _simple(
        self, nodes: Sequence[ast.stmt], context: tuple[Context, ...]
    ) -> Iterator[CodeFact]:
        under_if = any(one.kind == "if" for one in context)
        told = [node for node in nodes if under_if or not _is_empty(node)]
        clauses = [clause for node in told if (clause := self._clause(node, begins=not under_if))]
        if clauses:
            sentence = ", ".join(filter(None, [_under(context), listed(clauses)]))
            yield _fact(sentence, nodes, context, _concepts(nodes, context))
        for node in nodes:
            if table := _table(node):
                yield from self._entries(node, table)

    def _entries(self, node: ast.stmt, table: ast.Dict) -> Iterator[CodeFact]:
        """Yield one fact for each entry of a table, so that a question about one entry reveals only this entry."""
        owner = [node.targets[0]] if isinstance(node, ast.Assign) else []
        whole = f" of {self._speaker.say(owner[0])}" if owner else ""
        for key, value in zip(table.keys, table.values, strict=True):
            if key is None or (not owner and isinstance(value, ast.Name)):
                continue
            sentence = f"{self._speaker.say(key)}{whole} is {self._speaker.say(value)}"
            yield _fact(sentence, (key, value), (), concepts_of([value]) | {"entry"}, owner)


OTHERWISE = "in all other cases"


def _summed(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return a block in which consecutive additions of a number to the same variable are merged."""
    summed: list[ast.stmt] = []
    for node in body:
        match summed[-1:], node:
            case (
                [
                    ast.AugAssign(
                        op=ast.Add(), value=ast.Constant(value=int() | float() as so_far)
                    ) as last
                ],
                ast.AugAssign(op=ast.Add(), value=ast.Constant(value=int() | float() as more)),
            ) if ast.dump(last.target) == ast.dump(node.target):
                summed[-1] = ast.AugAssign(last.target, last.op, ast.Constant(so_far + more))
            case _:
                summed.append(node)
    return summed


def _fits(nodes: Sequence[ast.stmt], clause: Callable[[ast.stmt], str]) -> bool:
    short = sum(len(clause(node)) for node in nodes) <= LONGEST_OUTCOME
    return short and len(nodes) <= MOST_TOGETHER


def _grown(function: FUNCTION) -> frozenset[str]:
    """Return the variables that a function updates with augmented assignment, such as `total += x`."""
    return frozenset(
        node.target.id
        for node in ast.walk(function)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    )


def _is_empty(node: ast.stmt) -> bool:
    """Return True if a statement only creates an empty list, set or dictionary."""
    match node:
        case ast.Assign(value=ast.List(elts=[]) | ast.Dict(keys=[])):
            return True
        case ast.Assign(value=ast.Call(func=ast.Name(id="set" | "list" | "dict"), args=[])):
            return True
    return False


def _leaves(node: ast.stmt | None) -> bool:
    """Return True if the code after a statement is its "otherwise" case.

    Such a statement is an `if` chain without `else` that leaves the block in every branch, or a loop that contains
    `return`.
    """
    if isinstance(node, ast.For | ast.While):
        return any(isinstance(part, ast.Return) for part in ast.walk(node))
    if not isinstance(node, ast.If) or (node.orelse and not _leaves(node.orelse[-1])):
        return False
    return isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue)


def _equal_to(test: ast.expr) -> str | None:
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq() | ast.In()]):
            return spoken(name)
    return None


def _under(context: Sequence[Context]) -> str:
    """Describe the context with all conditions in one clause.

    If this clause is too long, describe only the innermost part of the context.
    """
    said = _joined(context)
    return said if len(said) <= LONGEST_CONTEXT else _joined(context[-1:])


def _joined(context: Sequence[Context]) -> str:
    parts: list[str] = []
    conditions = [one.phrase for one in context if one.kind == "if"]
    for one in context:
        if one.phrase == OTHERWISE and parts and parts[-1].startswith("if "):
            parts[-1] += " and nothing else applies"
        elif one.phrase == OTHERWISE and parts:
            parts.append("otherwise")
        elif one.kind != "if":
            parts.append(one.phrase)
        elif one.phrase == conditions[0]:
            bracketed = [f"({c})" if " or " in c and len(conditions) > 1 else c for c in conditions]
            parts.append(f"if {' and '.join(bracketed)}")
    return ", ".join(parts)


def _concepts(nodes: Sequence[ast.AST], context: Sequence[Context]) -> frozenset[str]:
    last = context[-1] if context else Context("", "")
    found = concepts_of(nodes, last.nodes if last.kind != "loop" else ())
    return found | {"default", "error"} if last.kind == "else" else found


def _fact(
    clause: str,
    nodes: Sequence[ast.AST],
    context: Sequence[Context],
    concepts: frozenset[str],
    outer: Sequence[ast.AST] = (),
) -> CodeFact:
    tables = [table for node in nodes if (table := _table(node))]
    aside = {id(part) for table in tables for part in ast.walk(table)}
    loose = [part for one in context[:-1] for part in one.nodes]
    near = context[-1] if context else Context("", "")
    if near.kind == "else":
        loose.extend(near.nodes)
    terms = dict.fromkeys(_terms((*outer, *loose, *tables)), OUTER)
    terms |= dict.fromkeys(_terms(near.nodes if near.kind != "else" else ()), 1.0)
    terms |= dict.fromkeys(_terms(nodes, aside), 1.0)
    return CodeFact(sentence=as_sentence(clause), terms=terms, concepts=concepts)


def _table(node: ast.AST) -> ast.Dict | None:
    """Return the dict literal that a statement sets or returns, if it has at least `TABLE_MIN` entries; else None."""
    value = getattr(node, "value", None)
    return value if isinstance(value, ast.Dict) and len(value.keys) >= TABLE_MIN else None


def _terms(nodes: Iterable[ast.AST], aside: Container[int] = ()) -> Iterator[str]:
    for root in nodes:
        for node in ast.walk(root):
            if id(node) not in aside:
                yield from telling(_text(node))


def _text(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return spoken(name)
        case ast.Attribute(attr=name):
            return spoken(name)
        case ast.Constant(value=str(text)):
            return f"{spoken(text)} {text}" if len(text) <= 60 else text
    return ""
