"""Python conditions as clauses: "the total is above 100 and the customer is not new"."""

from __future__ import annotations

import ast

from colbench.domains.backend.human.calls import TESTS
from colbench.domains.backend.human.names import be, is_plural, listed, split_words
from colbench.domains.backend.human.speech import Says

COMPARED: dict[type[ast.cmpop], str] = {
    ast.Gt: "above",
    ast.GtE: "at least",
    ast.Lt: "below",
    ast.LtE: "at most",
    ast.Eq: "",
    ast.NotEq: "not",
    ast.Is: "",
    ast.IsNot: "not",
}
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
}
QUANTITY = {
    (True, False): "at least one",
    (True, True): "none",
    (False, False): "every one",
    (False, True): "not every one",
}
PARTICIPLES = {
    "met",
    "paid",
    "won",
    "lost",
    "sold",
    "taken",
    "done",
    "given",
    "sent",
    "found",
    "open",
}
VERBS = {"has", "have", "is", "are", "can", "needs", "contains", "exceeds"}


def state(node: ast.expr, speaker: Says, *, negated: bool = False) -> str:
    """Phrase a condition as a clause; with `negated`, phrase the opposite of the condition."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return state(inner, speaker, negated=not negated)
        case ast.BoolOp():
            return _several(node, speaker, negated)
        case ast.Compare():
            return _comparison(node, speaker, negated)
        case ast.Call():
            return _test(node, speaker, negated)
        case ast.Constant(value=value):
            return "never" if bool(value) is negated else "always"
    return _truth(node, speaker, negated)


def _several(node: ast.BoolOp, speaker: Says, negated: bool) -> str:
    shared = _shared(node)
    if shared:
        return _with_one_subject(*shared, speaker, negated)
    either = isinstance(node.op, ast.Or) is not negated
    clauses = []
    for value in node.values:
        clause = state(value, speaker, negated=negated)
        nested = isinstance(value, ast.BoolOp) and not _shared(value)
        clauses.append(f"({clause})" if nested else clause)
    return (" or " if either else " and ").join(clauses)


def _shared(node: ast.BoolOp) -> tuple[ast.expr, list[ast.expr], bool] | None:
    """Return (x, [1, 2], False) for `x == 1 or x == 2` and (x, [1, 2], True) for `1 in x or 2 in x`; else None."""
    pairs = [_subject_and_object(value) for value in node.values]
    known = [pair for pair in pairs if pair]
    same = len({(ast.dump(subject), contains) for subject, _, contains in known}) == 1
    if not isinstance(node.op, ast.Or) or len(known) != len(pairs) or not same:
        return None
    return known[0][0], [found for _, found, _ in known], known[0][2]


def _subject_and_object(node: ast.expr) -> tuple[ast.expr, ast.expr, bool] | None:
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return left, right, False
        case ast.Compare(
            left=ast.Constant(value=str()) as left, ops=[ast.In()], comparators=[right]
        ):
            return right, left, True
    return None


def _with_one_subject(
    subject: ast.expr, objects: list[ast.expr], contains: bool, speaker: Says, negated: bool
) -> str:
    said, found = speaker.say(subject), speaker.each(objects)
    if contains:
        return f"{said} {_contain(said, negated)} {listed(found, 'or')}"
    if negated:
        return f"{said} {be(said)} neither {listed(found, 'nor')}"
    return f"{said} {be(said)} {listed(found, 'or')}"


def _contain(subject: str, negated: bool) -> str:
    if is_plural(subject):
        return "do not contain" if negated else "contain"
    return "does not contain" if negated else "contains"


def _comparison(node: ast.Compare, speaker: Says, negated: bool) -> str:
    if len(node.ops) == 2 and not negated:
        between = _between(node, speaker)
        if between:
            return between
    operands = [node.left, *node.comparators]
    clauses = [
        _pair(left, op, right, speaker, negated)
        for left, op, right in zip(operands, node.ops, operands[1:], strict=False)
    ]
    return (" or " if negated else " and ").join(clauses)


def _between(node: ast.Compare, speaker: Says) -> str:
    low, middle, high = (speaker.say(part) for part in (node.left, *node.comparators))
    ends = {
        (ast.LtE, ast.LtE): "{} and {}, both included",
        (ast.Lt, ast.Lt): "{} and {}, neither included",
        (ast.LtE, ast.Lt): "{} (included) and {} (not included)",
        (ast.Lt, ast.LtE): "{} (not included) and {} (included)",
    }.get((type(node.ops[0]), type(node.ops[1])))
    return f"{middle} {be(middle)} between {ends.format(low, high)}" if ends else ""


def _pair(left: ast.expr, op: ast.cmpop, right: ast.expr, speaker: Says, negated: bool) -> str:
    kind = OPPOSITE[type(op)] if negated else type(op)
    special = _remainder(left, kind, right, speaker) or _size(left, kind, right, speaker)
    if special:
        return special
    if kind in (ast.In, ast.NotIn):
        return _membership(left, right, speaker, negated=kind is ast.NotIn)
    if isinstance(left, ast.Constant) and kind in MIRRORED:
        left, kind, right = right, MIRRORED[kind], left
    subject = speaker.say(left)
    if isinstance(right, ast.Constant) and right.value is None:
        return f"{subject} {be(subject, negated=kind in (ast.Eq, ast.Is))} given"
    words = (subject, be(subject), COMPARED[kind], speaker.say(right))
    return " ".join(word for word in words if word)


def _remainder(left: ast.expr, kind: type[ast.cmpop], right: ast.expr, speaker: Says) -> str:
    match left, right:
        case ast.BinOp(left=whole, op=ast.Mod(), right=part), ast.Constant(value=0):
            subject = speaker.say(whole)
            is_or_not = be(subject, negated=kind is ast.NotEq)
            if kind in (ast.Eq, ast.NotEq):
                return f"{subject} {is_or_not} divisible by {speaker.say(part)}"
    return ""


def _size(left: ast.expr, kind: type[ast.cmpop], right: ast.expr, speaker: Says) -> str:
    match left, right:
        case ast.Call(func=ast.Name(id="len"), args=[thing]), ast.Constant(value=0):
            subject = speaker.say(thing)
            if kind is ast.Eq:
                return f"{subject} {be(subject)} empty"
            if kind in (ast.Gt, ast.NotEq):
                return f"{subject} {be(subject, negated=True)} empty"
    return ""


def _membership(left: ast.expr, right: ast.expr, speaker: Says, *, negated: bool) -> str:
    subject, whole = speaker.say(left), speaker.say(right)
    is_or_not = be(subject, negated=negated)
    if isinstance(right, ast.List | ast.Tuple | ast.Set):
        return f"{subject} {is_or_not} {listed(speaker.each(right.elts), 'or')}"
    if isinstance(left, ast.Constant):
        return f"{whole} {_contain(whole, negated)} {subject}"
    return f"{subject} {is_or_not} in {whole}"


def is_test(node: ast.Call) -> bool:
    """Return True if a call is phrased as a whole clause, such as "x starts with y"."""
    match node:
        case ast.Call(func=ast.Name(id="any" | "all"), args=[ast.GeneratorExp() | ast.ListComp()]):
            return True
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, _]):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in TESTS and len(node.args) == TESTS[name][0].count("{0}")
    return False


def _test(node: ast.Call, speaker: Says, negated: bool) -> str:
    match node:
        case ast.Call(
            func=ast.Name(id="any" | "all" as name),
            args=[ast.GeneratorExp() | ast.ListComp() as many],
        ):
            return _quantified(many, name == "any", speaker, negated)
        case ast.Call(func=ast.Name(id="isinstance"), args=[thing, kind]):
            subject = speaker.say(thing)
            return f"{subject} {be(subject, negated=negated)} a {_type_name(kind)}"
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments) if is_test(node):
            said = [_alternatives(argument, speaker) for argument in arguments]
            return TESTS[name][negated].format(*(said or [""]), self=speaker.say(owner))
    return _truth(node, speaker, negated)


def _alternatives(node: ast.expr, speaker: Says) -> str:
    return (
        listed(speaker.each(node.elts), "or") if isinstance(node, ast.Tuple) else speaker.say(node)
    )


def _type_name(kind: ast.expr) -> str:
    names = {"str": "text", "dict": "dictionary", "int": "whole number", "float": "number"}
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    plain = [one.id if isinstance(one, ast.Name) else "some kind" for one in kinds]
    return listed([names.get(name, name) for name in plain], "or")


def _quantified(
    many: ast.GeneratorExp | ast.ListComp, some: bool, speaker: Says, negated: bool
) -> str:
    match many:
        case (
            ast.GeneratorExp(
                elt=ast.Compare(left=ast.Name(id=name)),
                generators=[ast.comprehension(target=ast.Name(id=same), iter=whole, ifs=[])],
            )
            | ast.ListComp(
                elt=ast.Compare(left=ast.Name(id=name)),
                generators=[ast.comprehension(target=ast.Name(id=same), iter=whole, ifs=[])],
            )
        ) if name == same:
            subject = f"{QUANTITY[some, negated]} of {speaker.say(whole)}"
            return state(many.elt, speaker.knowing({name: subject}))
    return _some(many, speaker, negated) if some else _every(many, speaker, negated)


def _some(many: ast.GeneratorExp | ast.ListComp, speaker: Says, negated: bool) -> str:
    places = []
    for part in many.generators:
        source, speaker = speaker.say(part.iter), speaker.loop(part.target, part.iter)
        places.append(f"{speaker.bare(part.target)} in {source}")
    tests = [*(test for part in many.generators for test in part.ifs), many.elt]
    clause = " and ".join(state(test, speaker) for test in tests)
    return f"there is {'no' if negated else 'a'} {' with a '.join(places)} where {clause}"


def _every(many: ast.GeneratorExp | ast.ListComp, speaker: Says, negated: bool) -> str:
    places = []
    for part in many.generators:
        source, speaker = speaker.say(part.iter), speaker.loop(part.target, part.iter)
        tests = " and ".join(state(test, speaker) for test in part.ifs)
        where = f" where {tests}" if tests else ""
        places.append(f"{speaker.bare(part.target)} in {source}{where}")
    denied = "not " if negated else ""
    return f"{denied}for every {' and every '.join(places)}, {state(many.elt, speaker)}"


def _truth(node: ast.expr, speaker: Says, negated: bool) -> str:
    """Phrase a value used as a condition: a flag, a call's result, or a value that may be empty or unset."""
    words = split_words(node.id) if isinstance(node, ast.Name) else []
    flag = _flag(words, negated) if len(words) > 1 else ""
    if flag:
        return flag
    subject = speaker.say(node)
    if isinstance(node, ast.Name) and is_plural(subject):
        return f"there are {'no' if negated else 'any'} {speaker.bare(node)}"
    return f"{subject} {be(subject, negated=negated)} {'true' if isinstance(node, ast.Call) else 'set'}"


def _flag(words: list[str], negated: bool) -> str:
    """Phrase a flag such as `is_double_bogey`, `card_has_port` or `video_disabled` as a clause; "" for other names."""
    denied = " not" if negated else ""
    head, *rest = words
    if head in ("is", "are"):
        return f"it is{denied} {' '.join(rest)}"
    if head == "has":
        return f"it has {'no ' if negated else ''}{' '.join(rest)}"
    verb = next(
        (n for n, word in enumerate(words) if n and word in VERBS and n + 1 < len(words)), 0
    )
    if verb:
        before, after = " ".join(words[:verb]), " ".join(words[verb + 1 :])
        denial = " no" if words[verb] in ("has", "have") and negated else denied
        return f"the {before} {words[verb]}{denial} {after}"
    if words[-1].endswith("ed") or words[-1] in PARTICIPLES:
        subject = " ".join(words[:-1])
        return f"the {subject} {be(subject, negated=negated)} {words[-1]}"
    return ""
