"""Kinds of pages: which sections one has, and how a person asks for it."""

from __future__ import annotations

from msgspec import Struct

from colbench_tasks.frontend.frame import footer, navigation, opening
from colbench_tasks.frontend.sections import (
    Section,
    article,
    cards,
    figures,
    form,
    gallery,
    invitation,
    login,
    menu,
    pricing,
    products,
    table,
)


class Kind(Struct, frozen=True, kw_only=True):
    """A kind of page. A page takes one of the `plans`, a request one of the `requests`."""

    name: str
    plans: tuple[tuple[Section, ...], ...]
    requests: tuple[str, ...]
    """`$name`, `$trade`, `$Trade` and `$style` are filled in; then "a" becomes "an" where it must."""
    unfit: tuple[str, ...] = ()
    """Trades that would hardly ask for such a page."""


NOT_SELLING = ("nonprofit organisation", "architecture firm")


def _kind(
    name: str,
    plans: tuple[tuple[Section, ...], ...],
    requests: str,
    unfit: tuple[str, ...] = (),
) -> Kind:
    framed = tuple((navigation, *plan, footer) for plan in plans)
    lines = tuple(requests.strip().splitlines())
    return Kind(name=name, plans=framed, requests=lines, unfit=unfit)


KINDS = (
    _kind(
        "landing",
        ((opening, cards), (opening, cards, invitation), (opening, gallery, invitation)),
        """
$Trade: a $style home page with a navigation bar, a large headline with a button, and a section on what we do.
The website of $name, a $trade. It needs a $style first impression, our main offers and a footer.
A $style landing page for a $trade called $name, with a call to action near the top.
A welcome page for our $trade, $style, that leads people to one button and shows what else there is.
""",
    ),
    _kind(
        "pricing",
        ((pricing,), (opening, pricing), (pricing, invitation)),
        """
$Trade website: a $style page that compares our prices side by side, one of them standing out.
A pricing page for $name, a $trade, with a plan in each column and a button under it.
A $style page where visitors of our $trade see what everything costs and choose.
We need a page with price boxes for a $trade, $style, with a menu at the top and a footer below.
""",
        unfit=NOT_SELLING,
    ),
    _kind(
        "gallery",
        ((gallery,), (opening, gallery), (gallery, form)),
        """
$Trade portfolio: a $style page with a grid of pictures, a name under each, and a simple navigation.
A picture gallery for $name, a $trade. The photographs matter most, the rest stays $style.
A $style website for a $trade that shows its work in a grid of images.
A page full of pictures for our $trade, with captions, a $style header and a footer.
""",
    ),
    _kind(
        "contact",
        ((form,), (opening, form), (form, table)),
        """
$Trade: a $style contact page with a form on one side and the address on the other.
A page where people can write to $name, a $trade, with a few fields and a send button.
A $style contact form for a $trade, with a navigation bar and where to find us.
Visitors of our $trade should reach us easily: a form, a telephone number, a $style look.
""",
    ),
    _kind(
        "login",
        ((login,), (login, invitation)),
        """
$Trade: a $style sign-in page with a box in the middle of the screen.
A login page for the customers of $name, a $trade, with two fields and a button.
A $style page to sign in to the website of a $trade, with a navigation bar and a footer.
Our $trade needs a place to log in, $style and without distraction.
""",
    ),
    _kind(
        "article",
        ((article,), (article, invitation), (article, cards)),
        """
$Trade blog: a $style article page with a title, a large picture and a quotation in the text.
A story on the website of $name, a $trade, to be read in peace: one column, one picture.
A $style blog post for a $trade, with a navigation bar above and a footer below.
A long text about our $trade with a photograph on top, $style and easy to read.
""",
    ),
    _kind(
        "dashboard",
        ((figures, table), (opening, figures, table), (figures, cards)),
        """
$Trade dashboard: a $style overview with the most important numbers in boxes and details below.
An internal page for $name, a $trade, with key figures on top and a list under them.
A $style admin page for a $trade: numbers first, then everything in detail.
The team of our $trade wants one page with all figures, $style, with a navigation bar.
""",
    ),
    _kind(
        "menu",
        ((menu,), (opening, menu), (menu, invitation)),
        """
$Trade: a $style page with a list of everything we have, a line and a price for each.
A price list for $name, a $trade, with names on the left and prices on the right.
A $style menu page for a $trade, with a short description under each entry.
A plain list of what our $trade offers, $style, between a header and a footer.
""",
        unfit=NOT_SELLING,
    ),
    _kind(
        "shop",
        ((products,), (opening, products), (products, table)),
        """
$Trade online store: a $style page with products in a row, each with a picture, a price and a button.
The shop page of $name, a $trade, with photographs and a way to put things in the cart.
A $style shop for a $trade, with a navigation bar, product cards and a footer.
People should be able to buy from our $trade: pictures, prices, buttons, all $style.
""",
        unfit=(*NOT_SELLING, "dental clinic", "fitness studio"),
    ),
    _kind(
        "timetable",
        ((table,), (opening, table), (table, form)),
        """
$Trade: a $style page with a table of all entries, with a coloured head row.
A page for $name, a $trade, that lists everything in a table with notes.
A $style overview for a $trade, with a table in the middle and a menu at the top.
Our $trade wants its list online as a table, $style, with a footer.
""",
    ),
)
