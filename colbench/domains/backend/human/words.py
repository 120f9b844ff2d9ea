"""Python expressions as a person would say them: `Speaker.say` returns a noun phrase, `Speaker.state` a clause.

Expressions without a rule are paraphrased with the words in them; code itself is never quoted.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import singledispatchmethod

from colbench.domains.backend.human.calls import FUNCTIONS, METHODS
from colbench.domains.backend.human.conditions import is_test, state
from colbench.domains.backend.human.names import (
    is_plural,
    listed,
    number,
    quoted,
    singular,
    split_words,
    spoken,
    the,
)
from colbench.domains.backend.human.series import (
    FROM_ONE,
    FROM_ZERO,
    SHORT_NAME,
    SPECIAL,
    called,
    comprehension,
    loop_names,
    ordinal,
)

OPERATORS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("plus", 1),
    ast.Sub: ("minus", 1),
    ast.Mult: ("times", 2),
    ast.Div: ("divided by", 2),
    ast.FloorDiv: ("divided by", 2),
    ast.Mod: ("modulo", 2),
    ast.Pow: ("to the power of", 3),
    ast.BitAnd: ("and", 1),
    ast.BitOr: ("combined with", 1),
    ast.BitXor: ("exclusive-or", 1),
    ast.LShift: ("shifted left by", 1),
    ast.RShift: ("shifted right by", 1),
    ast.MatMult: ("times", 2),
}
POWERS: dict[object, str] = {0.5: "the square root of {}", 2: "{} squared", 3: "{} cubed"}
CONSTANTS = {None: "nothing (None)", True: "True", False: "False"}
EMPTY = {ast.List: "an empty list", ast.Dict: "an empty dictionary", ast.Tuple: "an empty tuple"}
TIGHTEST = 4
LOOSE = (ast.BinOp, ast.BoolOp, ast.IfExp, ast.Compare)
CLOSED = ("the average of ", "the square root of ")
TRAILING = frozenset(
    name for (name, _), template in FUNCTIONS.items() if template.startswith("{0} ")
) | {"sorted"}
"""Functions whose phrases begin with the argument: "the total rounded to 2 decimals"."""


class Speaker:
    """A speaker who describes expressions in words; `names` maps variables with unclear names to phrases."""

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self.names = dict(names or {})

    def knowing(self, names: Mapping[str, str]) -> Speaker:
        """Return a speaker who also knows `names`, which maps variables to phrases."""
        return Speaker({**self.names, **names})

    def state(self, node: ast.expr, *, negated: bool = False) -> str:
        """Phrase a condition as a clause; with `negated`, phrase the opposite of the condition."""
        return state(node, self, negated=negated)

    @singledispatchmethod
    def say(self, node: ast.AST) -> str:
        """Phrase an expression as a noun phrase; if no rule fits its type, use the words of its source code."""
        words = (word for part in ast.unparse(node).split() for word in split_words(part))
        return " ".join(words) or "something"

    @say.register
    def _(self, node: ast.Name) -> str:
        if len(node.id) <= SHORT_NAME:
            return self.names.get(node.id) or node.id
        return self.names.get(node.id) or the(node.id)

    @say.register
    def _(self, node: ast.Constant) -> str:
        if isinstance(node.value, str):
            return quoted(node.value)
        if isinstance(node.value, bool) or node.value is None:
            return CONSTANTS[node.value]
        if isinstance(node.value, int | float):
            return number(node.value)
        return "nothing special" if node.value is ... else quoted(str(node.value))

    @say.register
    def _(self, node: ast.Attribute) -> str:
        if node.attr == "pi":
            return "pi"
        return f"{self.whose(node.value)} {spoken(node.attr)}"

    @say.register
    def _(self, node: ast.Subscript) -> str:
        return _entry(self, node.value, node.slice)

    @say.register
    def _(self, node: ast.BinOp) -> str:
        return _arithmetic(self, node)

    @say.register
    def _(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.USub):
            return f"minus {self.operand(node.operand)}"
        if isinstance(node.op, ast.Not):
            return f"whether {self.state(node)}"
        if isinstance(node.op, ast.Invert):
            return f"the bitwise inverse of {self.operand(node.operand)}"
        return self.say(node.operand)

    @say.register(ast.Compare)
    @say.register(ast.BoolOp)
    def _(self, node: ast.expr) -> str:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
            value, other = node.values
            if isinstance(other, ast.Constant | ast.List | ast.Dict):
                return f"{self.say(value)} ({self.say(other)} if there is none)"
        return f"whether {self.state(node)}"

    @say.register
    def _(self, node: ast.IfExp) -> str:
        outcome, other = self.say(node.body), self.say(node.orelse)
        return f"{outcome} if {self.state(node.test)}, otherwise {other}"

    @say.register
    def _(self, node: ast.Call) -> str:
        return _call(self, node)

    @say.register(ast.List)
    @say.register(ast.Tuple)
    @say.register(ast.Set)
    def _(self, node: ast.List | ast.Tuple | ast.Set) -> str:
        if len(node.elts) == 1:
            return f"a list of just {self.say(node.elts[0])}"
        return listed(self.each(node.elts)) or EMPTY.get(type(node), "an empty set")

    @say.register
    def _(self, node: ast.Dict) -> str:
        return _dictionary(self, node)

    @say.register
    def _(self, node: ast.JoinedStr) -> str:
        return f'the text "{"".join(map(self._piece, node.values))}"'

    @say.register(ast.ListComp)
    @say.register(ast.GeneratorExp)
    @say.register(ast.SetComp)
    @say.register(ast.DictComp)
    def _(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp) -> str:
        return comprehension(self, node)

    @say.register
    def _(self, node: ast.Lambda) -> str:
        names = {arg.arg: "it" for arg in node.args.args if len(arg.arg) <= SHORT_NAME}
        return self.knowing(names).say(node.body)

    @say.register
    def _(self, node: ast.Starred) -> str:
        return f"all of {self.say(node.value)}"

    def each(self, nodes: Sequence[ast.expr]) -> list[str]:
        """Return a phrase for each expression."""
        return [self.say(node) for node in nodes]

    def operand(self, node: ast.expr, rank: int = TIGHTEST) -> str:
        """Phrase an expression for use inside another expression, with parentheses if the words alone could be misread.

        Arithmetic that binds at least as tightly as `rank` gets no parentheses.
        """
        said = self.say(node)
        trailing = isinstance(node, ast.Call) and called(node.func) in TRAILING
        tight = isinstance(node, ast.BinOp) and (_rank(node) >= rank or said.startswith(CLOSED))
        return f"({said})" if trailing or (isinstance(node, LOOSE) and not tight) else said

    def whose(self, node: ast.expr) -> str:
        """Phrase an expression as a possessor: "the player's"."""
        phrase = self.say(node)
        if phrase == "it":
            return "its"
        if " of " in phrase or phrase.endswith(('"', ")")):
            return f"of {phrase} the"
        return f"{phrase}'" if phrase.endswith("s") else f"{phrase}'s"

    def bare(self, node: ast.expr) -> str:
        """Phrase an expression as a noun phrase without its article."""
        return self.say(node).removeprefix("the ")

    def loop(self, target: ast.expr, source: ast.expr) -> Speaker:
        """Return a speaker who also has phrases for a loop's variables (see `loop_names`)."""
        return self.knowing(loop_names(self, target, source))

    def _piece(self, node: ast.expr) -> str:
        if isinstance(node, ast.FormattedValue):
            return f"[{self.bare(node.value)}{_precision(node)}]"
        return str(node.value) if isinstance(node, ast.Constant) else ""


def _precision(node: ast.FormattedValue) -> str:
    spec = node.format_spec
    text = ast.unparse(spec) if spec else ""
    digits = [word for word in split_words(text) if word.isdigit()]
    return f" with {digits[-1]} decimals" if digits and "f" in split_words(text)[-1:] else ""


def _entry(speaker: Speaker, base: ast.expr, index: ast.expr) -> str:
    if isinstance(index, ast.Slice):
        return _slice(speaker, base, index)
    if isinstance(index, ast.Constant) and isinstance(index.value, str):
        key = quoted(index.value)
        phrase = speaker.say(base)
        if isinstance(base, ast.Name) and not is_plural(phrase):
            return f"{speaker.whose(base)} {key}"
        return f"the {key} of {phrase}"
    place = _place(index)
    if place is None:
        return _found_by(speaker, base, speaker.say(index))
    if place < -1:
        return f"the {_one(speaker.bare(base))} {ordinal(place)}"
    return f"the {ordinal(place)} {_one(speaker.bare(base))}"


def _found_by(speaker: Speaker, base: ast.expr, index: str) -> str:
    thing = "value" if (bare := speaker.bare(base)) == "it" else singular(bare)
    if index == "it":
        return f"the {thing}"
    return f"the {thing} {'at' if 'position' in index else 'for'} {index}"


def _one(phrase: str) -> str:
    return singular(phrase) if is_plural(phrase) else f"value of the {phrase}"


def _place(index: ast.expr) -> int | None:
    try:
        place = ast.literal_eval(index)
    except (ValueError, SyntaxError, TypeError):
        return None
    return place if isinstance(place, int) else None


def _slice(speaker: Speaker, base: ast.expr, cut: ast.Slice) -> str:
    phrase = speaker.say(base)
    match cut.step:
        case ast.UnaryOp(op=ast.USub(), operand=step):
            section = _backwards(speaker, phrase, cut)
        case step:
            section = _forwards(speaker, phrase, cut)
    if step is None or (isinstance(step, ast.Constant) and step.value == 1):
        return section
    return f"{section}, only the first of every {speaker.say(step)}"


def _backwards(speaker: Speaker, phrase: str, cut: ast.Slice) -> str:
    if cut.lower is None and cut.upper is None:
        return f"{phrase} in reverse order"
    first = f"position {speaker.say(cut.lower)}" if cut.lower else "the end"
    last = f"position {speaker.say(cut.upper)} (not included)" if cut.upper else "the beginning"
    return f"{phrase} from {first} back to {last}"


def _forwards(speaker: Speaker, phrase: str, cut: ast.Slice) -> str:
    match cut:
        case ast.Slice(lower=None, upper=ast.expr() as upper):
            return _beginning(speaker, phrase, upper)
        case ast.Slice(lower=ast.expr() as lower, upper=None):
            return f"{phrase} from position {speaker.say(lower)} on"
        case ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper):
            return f"{phrase} from position {speaker.say(lower)} to {speaker.say(upper)}"
    return phrase


def _beginning(speaker: Speaker, phrase: str, upper: ast.expr) -> str:
    match upper:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return f"all but the last of {phrase}"
        case ast.UnaryOp(op=ast.USub(), operand=number):
            return f"all but the last {speaker.say(number)} of {phrase}"
        case ast.Constant():
            return f"the first {speaker.say(upper)} of {phrase}"
    return f"as many of {phrase} as {speaker.say(upper)}, from the front"


def _arithmetic(speaker: Speaker, node: ast.BinOp) -> str:
    special = _special_arithmetic(speaker, node)
    if special:
        return special
    word, rank = OPERATORS[type(node.op)]
    whole = f"{speaker.operand(node.left, rank)} {word} {speaker.operand(node.right, rank + 1)}"
    return f"{whole}, rounded down" if isinstance(node.op, ast.FloorDiv) else whole


def _special_arithmetic(speaker: Speaker, node: ast.BinOp) -> str:
    match node:
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod() | ast.Add() as op):
            joint = "followed by" if isinstance(op, ast.Add) else "filled in with"
            return f"{speaker.say(node.left)} {joint} {speaker.say(node.right)}"
        case ast.BinOp(op=ast.Mod()):
            left, right = speaker.operand(node.left), speaker.operand(node.right)
            return f"the remainder of {left} divided by {right}"
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=power)) if power in POWERS:
            return POWERS[power].format(speaker.operand(node.left))
        case ast.BinOp(left=ast.Name(), op=ast.Add(), right=ast.Constant(value=1)):
            return FROM_ONE if speaker.say(node.left) == FROM_ZERO else ""
    return _average(speaker, node)


def _average(speaker: Speaker, node: ast.BinOp) -> str:
    """Phrase `sum(x) / len(x)` as the average of x."""
    match node:
        case ast.BinOp(
            left=ast.Call(func=ast.Name(id="sum"), args=[total]),
            op=ast.Div(),
            right=ast.Call(func=ast.Name(id="len"), args=[count]),
        ) if ast.dump(total) == ast.dump(count):
            return f"the average of {speaker.say(total)}"
    return ""


def _rank(node: ast.BinOp) -> int:
    return 0 if isinstance(node.op, ast.Mod | ast.FloorDiv) else OPERATORS[type(node.op)][1]


def _dictionary(speaker: Speaker, node: ast.Dict) -> str:
    if not node.keys:
        return EMPTY[ast.Dict]
    pairs = [
        f"{speaker.say(key)} being {speaker.say(value)}" if key else speaker.say(value)
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    if any(", " in pair or " and " in pair for pair in pairs):
        return f"a dictionary with {'; '.join(pairs)}"
    return f"a dictionary with {listed(pairs)}"


def _call(speaker: Speaker, node: ast.Call) -> str:
    name = called(node.func)
    if is_test(node):
        return f"whether {speaker.state(node)}"
    special = SPECIAL.get(name)
    said = special(speaker, node) if special and node.args else ""
    if said:
        return said
    values = [*node.args, *(word.value for word in node.keywords)]
    say = speaker.operand if name in TRAILING else speaker.say
    arguments = [say(value) for value in values]
    template = FUNCTIONS.get((name, len(arguments)))
    if template:
        return template.format(*arguments)
    if isinstance(node.func, ast.Attribute):
        template = METHODS.get((node.func.attr, len(arguments)))
        if template:
            owner = speaker.operand(node.func.value)
            literal = isinstance(node.func.value, ast.Dict)
            bare = f"value in {owner}" if literal else singular(owner.removeprefix("the "))
            return template.format(*arguments, self=owner, bare=bare)
    whole = f"the {spoken(name.rpartition('.')[2])}"
    return f"{whole} of {listed(arguments)}" if arguments else whole
