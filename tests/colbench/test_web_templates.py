from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from colbench.web.assets import content_security_policy, csp_hash, read_asset
from colbench.web.templating import page_templates


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that renders a template from a package made for the test."""
    package = f"leaflets_{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:8]}"
    folder = tmp_path / package / "templates"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))

    def render(source: str, **values: object) -> str:
        (folder / "page.html").write_text(source)
        return page_templates(package).get_template("page.html").render(**values)

    return render


def test_values_are_escaped(render):
    shown = render('<p title="{{ text }}">{{ text }}</p>', text='"<script>')
    assert shown == '<p title="&#34;&lt;script&gt;">&#34;&lt;script&gt;</p>'


def test_an_undefined_name_is_an_error(render):
    with pytest.raises(UndefinedError, match="nobody"):
        render("{{ nobody }}")


def test_number_filters_format_percentages_counts_and_missing_values(render):
    shown = render("{{ 0.423 | percent }} of {{ 1000 | count('task') }}, {{ none | amount }}")
    assert shown == "42.3% of 1,000 tasks, –"


def test_a_style_sheet_is_allowed_by_its_hash_and_inserted_unescaped(render):
    style = read_asset("colbench.web", "charts.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert csp_hash(style) == f"'sha256-{digest}'"
    assert str(style) in render("<style>{{ style }}</style>", style=style)


def test_a_content_security_policy_allows_only_the_named_sources():
    assert content_security_policy(img_src="'self'") == (
        "default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'none'"
    )
