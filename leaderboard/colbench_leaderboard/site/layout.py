"""Pages, and their common parts: templates, style sheet, script, and a policy that allows only the site's own files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from jinja2 import Environment
from msgspec import Struct

from colbench.web.assets import content_security_policy, read_asset
from colbench.web.charts import curve_chart, interval_bar, scatter_chart
from colbench.web.templating import page_templates
from colbench_leaderboard.site import slugs, text

PACKAGE = "colbench_leaderboard.site"
OWN = "'self' file:"
"""The site's own files, as a source in the content security policy; `file:` is for pages opened from a folder."""
POLICY = content_security_policy(img_src=OWN, style_src=OWN, script_src=OWN)
FILTERS = (
    slugs.archive_name,
    slugs.digest_slug,
    slugs.entry_folder,
    slugs.entry_page,
    text.beginning,
    text.cut,
    text.utc,
)

Trail = Sequence[tuple[str, str]]
"""The pages above a page: the URL of each, relative to the site's root, and its name."""


class Page(Struct, frozen=True, kw_only=True):
    """A page before rendering: a template and the plain data to show."""

    path: str
    """Path relative to the root of the site, such as `boards/x/index.html`."""
    template: str
    """Name of the template's file in `templates/`, without `.html`."""
    title: str
    trail: Trail = ()
    data: Mapping[str, object] = {}
    """Values for the template: texts, numbers, and structs, sequences and mappings of texts and numbers; no markup."""


class Layout:
    """The templates and assets of the site, with which pages are rendered."""

    def __init__(self) -> None:
        self.assets: dict[str, bytes] = {}
        """Content of the style sheet and the script, by path."""
        style = read_asset("colbench.web", "charts.css") + read_asset(PACKAGE, "assets/site.css")
        self._style = self._asset("site", "css", style)
        self._script = self._asset("site", "js", read_asset(PACKAGE, "assets/site.js"))
        self._templates = site_templates()

    def html(self, page: Page) -> str:
        """Return the HTML of a page. Links in templates begin with `root`, which leads up to the site's root."""
        return self._templates.get_template(f"{page.template}.html").render(
            page.data,
            page=page,
            root="../" * page.path.count("/"),
            style=self._style,
            script=self._script,
        )

    def _asset(self, stem: str, suffix: str, content: str) -> str:
        """Store an asset and return its path, which contains a hash of the content."""
        data = content.encode()
        path = f"assets/{stem}.{hashlib.sha256(data).hexdigest()[:12]}.{suffix}"
        self.assets[path] = data
        return path


def site_templates() -> Environment:
    """Return the templates, which escape every value and replace control characters."""
    templates = page_templates(PACKAGE)
    templates.finalize = text.clean
    templates.filters |= {each.__name__: each for each in FILTERS} | {"sort_key": sort_key}
    templates.globals |= {
        "policy": POLICY,
        "tracks": text.TRACKS,
        "levels": text.LEVELS,
        "curve_chart": curve_chart,
        "interval_bar": interval_bar,
        "scatter_chart": scatter_chart,
    }
    return templates


def sort_key(value: float | None) -> str:
    """Return a cell's sort key, an attribute that the table-sorting script reads; cells without a value come last."""
    return "" if value is None else f"{value:.6g}"
