"""Tables that can be sorted: heads with a scope, cells with the value behind what they show.

Cells and rows are written out, as a site has millions of them; classes and ids are words of this package.
"""

from __future__ import annotations

from collections.abc import Iterable

from colbench.report.markup import Safe, element, join


def head(name: str, *, number: bool = False, low: bool = False, fixed: bool = False) -> Safe:
    """A column's head. `low`: the first order is the smallest first; `fixed`: it is not sorted by."""
    flags = {"data_low": "" if low else None, "data_fixed": "" if fixed else None}
    return element("th", name, scope="col", class_="n" if number else None, **flags)


def number(shown: str, value: float | None, *more: str) -> Safe:
    """A number: what is shown of it, and the value it is sorted by (None: it comes last)."""
    behind = "" if value is None else f"{value:.6g}"
    return Safe(f'<td class="n" data-v="{behind}">{join((shown, *more))}</td>')


def cell(*content: str, class_: str | None = None) -> Safe:
    """A cell."""
    return Safe(f"<td{_named(class_)}>{join(content)}</td>")


def name(*content: str) -> Safe:
    """The head of a row, which stays in sight on a phone."""
    return Safe(f'<th scope="row" class="name stick">{join(content)}</th>')


def row(*cells: Safe, id_: str | None = None, class_: str | None = None) -> Safe:
    """A row. `id_`: of digits and letters made here."""
    place = "" if id_ is None else f' id="{id_}"'
    return Safe(f"<tr{place}{_named(class_)}>{''.join(cells)}</tr>")


def _named(class_: str | None) -> str:
    return "" if class_ is None else f' class="{class_}"'


def table(
    caption: str,
    heads: Iterable[Safe],
    *bodies: Iterable[Safe],
    label: str,
    id_: str | None = None,
    sortable: bool = True,
) -> Safe:
    """A table with its caption, that scrolls by itself where it is wider than the window."""
    made = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", *heads)),
        *(element("tbody", *body) for body in bodies),
        id=id_,
        class_="sortable" if sortable else None,
    )
    return element("div", made, class_="scroll", tabindex=0, role="region", aria_label=label)


def facts(caption: str, rows: Iterable[tuple[str, str]]) -> Safe:
    """A table of two columns: what it is, and what it is here."""
    body = (element("tr", element("th", key, scope="row"), cell(value)) for key, value in rows)
    return element("table", element("caption", caption), element("tbody", *body), class_="facts")


def filter_box(table_id: str, label: str) -> Safe:
    """Words to find in a table; shown by the script, which it needs."""
    box = element("label", label, Safe('<input type="search" autocomplete="off">'))
    return element("div", box, class_="tools", data_filters=table_id, hidden="")
