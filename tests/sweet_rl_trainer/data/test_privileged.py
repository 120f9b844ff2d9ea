"""Privileged information as text."""

from __future__ import annotations

import pytest

from colbench.errors import UserError
from sweet_rl_trainer.data.privileged import TEMPLATES, state


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize(
    ("domain", "reference"),
    [("backend", "\ndef f(x):\n    return {x}\n"), ("frontend", "<html>{max_turns}</html>\n")],
)
def test_the_whole_reference_is_written_in_a_code_fence(template, domain, reference):
    text = state(reference, domain, template).text
    fence = "python" if domain == "backend" else "html"
    assert text.endswith(f"\n\n```{fence}\n{reference.strip()}\n```")


def test_the_templates_differ_only_in_the_position_of_the_text():
    preamble, released = (state("def f(): 0", "backend", template) for template in TEMPLATES)
    assert preamble.text == released.text
    assert (preamble.inside, released.inside) == (True, False)


def test_an_unknown_template_and_an_empty_reference_are_refused():
    with pytest.raises(
        UserError, match="privileged 'suffix': expected one of preamble, released-order"
    ):
        state("def f(): 0", "backend", "suffix")
    with pytest.raises(UserError, match="privileged information is missing"):
        state(" \n", "backend", "preamble")
