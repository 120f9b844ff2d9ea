"""Conversion of `match` statements to equivalent `if` chains, so that both are described in the same words."""

from __future__ import annotations

import ast


class Unmatched(ast.NodeTransformer):
    """A transformer that replaces every `match` statement; names captured by patterns stay unassigned."""

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        """Return an `if` chain with one branch for each case."""
        self.generic_visit(node)
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            test = _test(node.subject, case)
            if test is None:
                chain = case.body
            else:
                branch = ast.copy_location(ast.If(test, case.body, chain), case.pattern)
                chain = [ast.fix_missing_locations(branch)]
        return chain


def _test(subject: ast.expr, case: ast.match_case) -> ast.expr | None:
    """Return the condition of a case; None if every value matches."""
    test = _matches(subject, case.pattern)
    if test and case.guard:
        return ast.BoolOp(ast.And(), [test, case.guard])
    return test or case.guard


def _matches(subject: ast.expr, pattern: ast.pattern) -> ast.expr | None:
    match pattern:
        case ast.MatchAs(pattern=None):
            return None
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _matches(subject, inner)
        case ast.MatchOr(patterns=patterns):
            tests = [_matches(subject, each) for each in patterns]
            return ast.BoolOp(ast.Or(), [test for test in tests if test]) if all(tests) else None
        case ast.MatchClass(cls=kind, patterns=[], kwd_patterns=[]):
            return ast.Call(ast.Name("isinstance"), [subject, kind], [])
        case ast.MatchSingleton():
            return ast.Compare(subject, [ast.Is()], [_value(pattern)])
    return ast.Compare(subject, [ast.Eq()], [_value(pattern)])


def _value(pattern: ast.pattern) -> ast.expr:
    """Return the expression that stands for a pattern when the human describes the code."""
    match pattern:
        case ast.MatchValue(value=value):
            return value
        case ast.MatchSingleton(value=constant):
            return ast.Constant(constant)
        case ast.MatchSequence(patterns=patterns):
            return ast.List([_value(each) for each in patterns])
        case ast.MatchMapping(keys=keys, patterns=patterns):
            return ast.Dict([*keys], [_value(each) for each in patterns])
        case ast.MatchStar(name=name) | ast.MatchAs(name=name):
            return ast.Name(name or "anything")
    return ast.Name(ast.unparse(pattern))
