"""Simple Python statements as a person would say them: "you add 5 to the score", "it returns the total"."""

from __future__ import annotations

import ast

from colbench.domains.backend.human.calls import ACTIONS
from colbench.domains.backend.human.names import be, listed, number, quoted
from colbench.domains.backend.human.series import called, sorting
from colbench.domains.backend.human.words import Speaker

Simple = (
    ast.Return
    | ast.Assign
    | ast.AnnAssign
    | ast.AugAssign
    | ast.Expr
    | ast.Raise
    | ast.Continue
    | ast.Break
    | ast.Delete
    | ast.Assert
)
CHANGES: dict[type[ast.operator], str] = {
    ast.Add: "you add {value} to {target}",
    ast.Sub: "you subtract {value} from {target}",
    ast.Mult: "you multiply {target} by {value}",
    ast.Div: "you divide {target} by {value}",
    ast.FloorDiv: "you divide {target} by {value} and round down",
    ast.Mod: "you take the remainder of {target} divided by {value}",
    ast.Pow: "you raise {target} to the power of {value}",
}


def statement(node: ast.stmt, speaker: Speaker, returns: str = "it returns") -> str:
    """Phrase a simple statement as a clause; "" for a statement that a person would not mention.

    `returns`: the words that introduce a returned value.
    """
    match node:
        case ast.Return(value=value):
            return f"{returns} {speaker.say(value or ast.Constant(None))}"
        case ast.AugAssign():
            return change(node.target, node.op, node.value, speaker)
        case ast.Assign(targets=[target, *_], value=value):
            return assignment(target, value, speaker)
        case ast.AnnAssign(value=ast.expr() as value):
            return assignment(node.target, value, speaker)
        case ast.Expr(value=ast.Call() as call):
            return _action(call, speaker)
    return _short(node, speaker)


def _short(node: ast.stmt, speaker: Speaker) -> str:
    match node:
        case ast.Raise(exc=error):
            return _raising(error, speaker)
        case ast.Continue():
            return "it is skipped"
        case ast.Break():
            return "you stop looking further"
        case ast.Delete(targets=targets):
            return f"you remove {listed(speaker.each(targets))}"
        case ast.Assert(test=test):
            return f"it must be that {speaker.state(test)}"
    return ""


def assignment(target: ast.expr, value: ast.expr, speaker: Speaker) -> str:
    """Describe an assignment: the variable's new value, or the change of its value."""
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            pairs = zip(targets, values, strict=True)
            return listed([assignment(one, other, speaker) for one, other in pairs])
        case ast.Name(id=name), ast.BinOp(left=ast.Name(id=same), op=op, right=right) if (
            name == same and type(op) in CHANGES
        ):
            return change(target, op, right, speaker)
        case ast.Name(id=name), ast.ListComp(elt=ast.Name(), generators=[part]) if (
            isinstance(part.iter, ast.Name) and part.iter.id == name and part.ifs
        ):
            return f"you keep only {speaker.say(value)}"
    subject = speaker.say(target)
    return f"{subject} {be(subject)} {speaker.say(value)}"


def change(target: ast.expr, op: ast.operator, value: ast.expr, speaker: Speaker) -> str:
    """Describe a change of a variable: "you take 10 percent off the price"."""
    subject = speaker.say(target)
    factor = value.value if isinstance(value, ast.Constant) else None
    if isinstance(op, ast.Mult) and isinstance(factor, float):
        percent = round((factor - 1) * 100, 6)
        if -60 < percent < 0:
            return f"you take {number(-percent)} percent off {subject}"
        if 0 < percent < 100:
            return f"you add {number(percent)} percent to {subject}"
    template = CHANGES.get(type(op), "you combine {target} with {value}")
    return template.format(value=speaker.say(value), target=subject)


def _action(call: ast.Call, speaker: Speaker) -> str:
    if not isinstance(call.func, ast.Attribute):
        return f"you do {speaker.bare(call)}" if called(call.func) != "print" else ""
    owner = call.func.value
    if call.func.attr == "sort":
        return f"you sort {speaker.say(owner)}{sorting(speaker, call, owner)}"
    template = ACTIONS.get((call.func.attr, len(call.args)))
    if template is None:
        return f"you do {speaker.bare(call)}"
    return template.format(*speaker.each(call.args), self=speaker.say(owner))


def _raising(error: ast.expr | None, speaker: Speaker) -> str:
    match error:
        case ast.Call(func=ast.Name(id=kind), args=[ast.Constant(value=str(text)), *_]):
            return f"it raises a {kind} saying {quoted(text)}"
        case ast.Call(func=ast.Name(id=kind), args=[message, *_]):
            return f"it raises a {kind} with {speaker.say(message)}"
        case ast.Call(func=ast.Name(id=kind)) | ast.Name(id=kind):
            return f"it raises a {kind}"
    return "it raises an error"
