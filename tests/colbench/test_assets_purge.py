"""The stylesheet purged for a page: it keeps every rule that the page can use, in the original order."""

from __future__ import annotations

import lzma
import re
from itertools import pairwise

import pytest

from colbench.sandbox.browser.assets.stylesheet import purge
from colbench.sandbox.browser.assets.vendored import VENDOR

SHEET = lzma.decompress((VENDOR / "tailwind/tailwind-2.2.19.min.css.xz").read_bytes()).decode()
RULES = re.sub(r"/\*.*?\*/", "", SHEET)


def test_a_page_with_every_class_keeps_the_whole_sheet_unchanged() -> None:
    names = re.findall(r"\.((?:\\.|[a-zA-Z0-9_-])+)", RULES)
    page = " ".join(names).replace("\\32xl", "2xl").replace("\\", "")
    assert purge(page) == RULES


def test_a_page_without_classes_keeps_only_the_reset_and_the_keyframes() -> None:
    kept = purge("<h1>nothing</h1>")
    assert kept.startswith("*,::after,::before{box-sizing:border-box}html{")
    assert "h1,h2,h3,h4,h5,h6{font-size:inherit;font-weight:inherit}" in kept
    assert kept.count("@keyframes") == 4
    assert "@media" not in kept
    assert len(kept) < 5000


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("w-1/2", r".w-1\/2{width:50%}"),
        ("p-0.5", r".p-0\.5{padding:.125rem}"),
        ("-mt-1.5", r".-mt-1\.5{margin-top:-.375rem}"),
        ("hover:underline", r".hover\:underline:hover{text-decoration:underline}"),
        ("space-x-4", ".space-x-4>:not([hidden])~:not([hidden]){--tw-space-x-reverse:0;"),
        ("placeholder-gray-500", ".placeholder-gray-500::placeholder{--tw-placeholder-opacity:1"),
        ("group-hover:underline", r".group:hover .group-hover\:underline{"),
        ("animate-spin", ".animate-spin{animation:spin 1s linear infinite}"),
        ("tabular-nums", ".diagonal-fractions,.lining-nums,.oldstyle-nums,"),
        ("md:flex", r"@media (min-width:768px){.md\:flex{display:flex}}"),
        ("2xl:w-1/5", r"@media (min-width:1536px){.\32xl\:w-1\/5{width:20%}}"),
        ("sm:hover:underline", r"@media (min-width:640px){.sm\:hover\:underline:hover{"),
        ("md:container", r"@media (min-width:768px){.md\:container{width:100%}@media (min-width:640px){"),
    ],
)  # fmt: skip
def test_a_class_keeps_its_rule_inside_its_media_query(name: str, rule: str) -> None:
    assert rule not in purge("<p>")
    assert rule in purge(f'<p class="{name}">')


@pytest.mark.parametrize(
    "page",
    ['<p class="flex">', "<p class='x flex'>", "<p class=flex>", "<p\nclass = flex\n>", "<p class=FLEX>",
     '<p class="&#102;lex">', '<p class="x\tflex\ny">'],
)  # fmt: skip
def test_classes_are_found_in_any_attribute_syntax(page: str) -> None:
    assert ".flex{display:flex}" in purge(page)


def test_a_class_name_is_not_found_inside_another_name() -> None:
    assert ".flex{" not in purge('<p class="inline-flex flex-1 my-flex">')


def test_rules_keep_their_order_regardless_of_the_order_of_the_classes() -> None:
    kept = purge('<p class="md:p-8 xl:p-2 p-4 p-2 px-6 sm:p-1 hidden block flex md:hidden">')
    wanted = [".block{", ".flex{", ".hidden{", ".p-2{", ".p-4{", ".px-6{", r".sm\:p-1{", r".md\:hidden{",
              r".md\:p-8{", r".xl\:p-2{"]  # fmt: skip
    places = [kept.index(rule) for rule in wanted]
    assert all(first < second for first, second in pairwise(places))
    assert [RULES.index(rule) for rule in wanted] == sorted(RULES.index(rule) for rule in wanted)


def test_media_queries_are_closed() -> None:
    kept = purge('<p class="md:container sm:flex lg:flex container 2xl:flex">')
    depth = 0
    for brace in re.findall("[{}]", kept):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
