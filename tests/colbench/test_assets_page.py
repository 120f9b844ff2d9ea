"""Prepared pages: which links become styles, which scripts may run, and what the policy says."""

from __future__ import annotations

import base64
import hashlib

import pytest

from colbench.sandbox.browser.assets import prepare

LINK = '<link href="https://cdn.jsdelivr.net/npm/tailwindcss@2.2.19/dist/tailwind.min.css" rel="stylesheet">'
PLAY = '<script src="https://cdn.tailwindcss.com"></script>'


def test_a_stylesheet_link_becomes_a_style_in_the_same_place() -> None:
    page = f'<html><style>p{{color:red}}</style>{LINK}<style>p{{margin:1px}}</style><p class="p-4">x</p></html>'
    ready = prepare(page).page
    first, ours, last = (
        ready.index(part) for part in ("p{color:red}", ".p-4{padding:1rem}", "p{margin:1px}")
    )
    assert first < ours < last
    assert "<link" not in ready
    assert ready.startswith("<html><style>p{color:red}</style><style")
    assert ready.endswith('</style><style>p{margin:1px}</style><p class="p-4">x</p></html>')


@pytest.mark.parametrize(
    "link",
    [
        "<link rel=stylesheet href=https://unpkg.com/tailwindcss@^2/dist/tailwind.min.css>",
        "<LINK REL='StyleSheet' HREF='//cdn.jsdelivr.net/npm/tailwindcss@2/dist/tailwind.css'/>",
        '<link\nrel = "stylesheet" type="text/css" title="a > b" integrity="sha384-x" crossorigin="anonymous"\n'
        'href="https://cdnjs.cloudflare.com/ajax/libs/tailwindcss/1.9.6/tailwind.min.css" />',
        '<link rel="preload stylesheet" as="style" href="https://unpkg.com/tailwindcss@%5E1.0/dist/tailwind.min.css">',
        '<link rel="stylesheet" href="https://cdn.jsdelivr.net/npm/tailwindcss&#64;2.0.2/dist/tailwind.min.css?x=1#y">',
    ],
)
def test_links_to_the_stylesheet_are_recognized(link: str) -> None:
    assert ".flex{display:flex}" in prepare(f"{link}<p class=flex>").page


@pytest.mark.parametrize(
    "page",
    [
        f"<!-- {LINK} --><p class=flex>",
        f"<!-- {LINK}",
        f"<textarea>{LINK}</textarea>",
        f"<title>{LINK}</title><p class=flex>",
        f"<script>const link = '{LINK}'</script>",
        LINK.replace("stylesheet", "preload"),
        LINK.replace("stylesheet", "alternate stylesheet"),
        LINK.replace(">", " disabled>"),
        LINK.replace("@2.2.19", "@3.4.1"),
        LINK.replace("@2.2.19", ""),
        LINK.replace("tailwindcss@2.2.19/dist/tailwind", "bootstrap@5.3.0/dist/css/bootstrap"),
        LINK.replace("https:", "file:"),
        LINK.replace("link", "linked"),
    ],
)
def test_pages_without_an_active_stylesheet_link_are_unchanged(page: str) -> None:
    ready = prepare(page)
    assert ready.page == page
    assert not ready.needs_script


def test_the_style_keeps_the_media_attribute_of_its_link() -> None:
    ready = prepare(LINK.replace(">", ' media="print and (min-width: 1px)&quot;">')).page
    assert ready.startswith('<style media="print and (min-width: 1px)&quot;">')


def test_the_growth_of_a_page_with_many_links_is_bounded() -> None:
    page = LINK * 1000
    assert prepare(page).page.count("<style") == 4
    assert len(prepare(page).page) < len(page) + 20_000


def test_the_doctype_is_neither_added_nor_dropped() -> None:
    assert prepare(f"<!DOCTYPE html><html>{LINK}").page.startswith("<!DOCTYPE html><html><style")
    assert prepare(f"<html>{LINK}").page.startswith("<html><style")


def _policy(page: str) -> dict[str, list[str]]:
    parts = [part.split() for part in prepare(page).csp.split(";")]
    return {part[0]: part[1:] for part in parts}


def test_the_policy_without_a_tailwind_script_allows_only_styles_images_and_fonts() -> None:
    policy = _policy(f"{LINK}<script>alert(1)</script><script>tailwind.config = {{}}</script>")
    assert policy == {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'", "http:", "https:"],
        "img-src": ["http:", "https:", "data:"],
        "font-src": ["data:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("https://cdn.tailwindcss.com", "https://cdn.tailwindcss.com/"),
        ("http://cdn.tailwindcss.com/3.4.1", "https://cdn.tailwindcss.com/"),
        ("//cdn.tailwindcss.com?plugins=forms", "https://cdn.tailwindcss.com/?plugins=all"),
        ("https://unpkg.com/@tailwindcss/browser@4", "https://cdn.jsdelivr.net/npm/@tailwindcss/browser@4"),
        (
            "https://cdn.jsdelivr.net/npm/@tailwindcss/browser@4.1.13/dist/index.global.min.js",
            "https://cdn.jsdelivr.net/npm/@tailwindcss/browser@4",
        ),
    ],
)  # fmt: skip
def test_a_tailwind_script_gets_one_address_and_is_the_only_allowed_script(
    source: str, address: str
) -> None:
    ready = prepare(f'<html><script defer src="{source}"></script><script src="evil.js"></script>')
    assert ready.needs_script
    assert ready.page.startswith(f'<html><script src="{address}"></script><script src="evil.js">')
    assert _policy(ready.page)["script-src"] == [address.partition("?")[0]]


@pytest.mark.parametrize(
    "config",
    [
        "tailwind.config = {}",
        "\n  window.tailwind.config={theme:{extend:{colors:{'brand':\"#f00\"}}},darkMode:'class'};\n",
        "// our colours\ntailwind.config = {\n  theme: { extend: { spacing: { x: -1.5 } } }, // (a) remark\n}",
        "tailwind.config = { theme: { colors: { a: tailwind.colors.red, b: 'rgb(1, 2, 3)' } } }",
        "tailwind.config = {\r\n}",
    ],
)
def test_a_configuration_of_plain_data_is_allowed_by_its_hash(config: str) -> None:
    digest = hashlib.sha256(config.replace("\r\n", "\n").encode()).digest()
    hashed = f"'sha256-{base64.b64encode(digest).decode()}'"
    assert hashed in _policy(f"{PLAY}<script>{config}</script>")["script-src"]


@pytest.mark.parametrize(
    "script",
    [
        "alert(1)",
        "tailwind.config = {}; alert(1)",
        "tailwind.config = {}; location = 'https://example.org'",
        "tailwind.config = { a: f`x` }",
        "tailwind.config = { get a() { return 1 } }",
        "tailwind.config = { a: () => 1 }",
        "tailwind.config = { plugins: [require('@tailwindcss/forms')] }",
        "tailwind.config = { a: 'x\\\\' }; while(1); ' }",
        "// \u2028 alert(1)\ntailwind.config = {}",
        "tailwind.config = { // \u2028 a: alert(1)\n}",
        "tailwind.config = { /* */ a: alert(1) /* */ }",
        "tailwind.config = { a: /x/[alert(1)] }",
        "tailwind.config = {} <!-- x",
        "tailwind.config = { a: \\u0061lert(1) }",
        "tailwind.configs = {}",
    ],
)
def test_a_script_that_is_not_a_plain_configuration_is_blocked(script: str) -> None:
    assert _policy(f"{PLAY}<script>{script}</script>")["script-src"] == [
        "https://cdn.tailwindcss.com/"
    ]


def test_an_unquoted_address_is_read_to_its_end() -> None:
    ready = prepare("<script src=https://cdn.tailwindcss.com?plugins=forms></script>")
    assert ready.page == '<script src="https://cdn.tailwindcss.com/?plugins=all"></script>'


def test_addresses_cannot_inject_directives_into_the_policy() -> None:
    page = "<script src=\"https://cdn.tailwindcss.com/;script-src * 'unsafe-inline'\"></script>"
    assert _policy(page)["script-src"] == ["https://cdn.tailwindcss.com/"]


def test_many_configurations_do_not_make_the_policy_long() -> None:
    page = PLAY + "".join(f"<script>tailwind.config = {{a: {n}}}</script>" for n in range(1000))
    assert len(prepare(page).csp) < 1000


@pytest.mark.parametrize(
    "meta",
    [
        '<meta http-equiv="refresh" content="1;url=#t">',
        "<META HTTP-EQUIV=Refresh CONTENT='1; URL=\"#t\"'>",
        '<meta content="0,https://page.invalid/#t" http-equiv="&#114;efresh">',
        '<meta http-equiv="refresh" content="1; #t"',
    ],
)
def test_a_refresh_to_an_anchor_of_the_same_page_is_removed(meta: str) -> None:
    assert prepare(f"<p>x</p>{meta}").page == "<p>x</p>"


@pytest.mark.parametrize("frame", ["<iframe", "<IFRAME sandbox=allow-scripts"])
def test_a_frame_is_sandboxed(frame: str) -> None:
    name, rest = frame[:7], frame[7:]
    ready = f'{name} sandbox="allow-same-origin"{rest} srcdoc="x"></iframe>'
    assert prepare(f'{frame} srcdoc="x"></iframe>').page == ready


@pytest.mark.parametrize("text", ["<iframes>", "<!-- <iframe> -->", "<title><iframe></title>"])
def test_text_that_only_looks_like_a_frame_is_unchanged(text: str) -> None:
    assert prepare(text).page == text


@pytest.mark.parametrize(
    "meta",
    [
        '<meta http-equiv="refresh" content="1">',
        '<meta http-equiv="refresh" content="1;url=https://elsewhere.example/#t">',
        '<meta http-equiv="refresh" content="1;url=https://[/#t">',
        '<meta name="refresh" content="1;url=#t">',
        '<!-- <meta http-equiv="refresh" content="1;url=#t"> -->',
    ],
)
def test_other_meta_elements_are_unchanged(meta: str) -> None:
    assert prepare(meta).page == meta
