"""The subjects of pages: trades, each with texts for a page, and businesses drawn from a trade.

A trade is a block of fifteen lines in `subjects/FIELD.txt`: trade, names, headlines, leads, actions, links, roles,
figures, praise, and six items (name, price or size, sentence).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from random import Random

from msgspec import Struct

FIRST = (
    *("Ada", "Bruno", "Carla", "Dario", "Edda", "Farid", "Greta", "Hanno"),
    *("Ines", "Jonas", "Kira", "Lasse", "Mara", "Nils", "Olga", "Pavel"),
    *("Rosa", "Sami", "Tilda", "Umar", "Vera", "Wim", "Yara", "Zoltan"),
)
LAST = (
    *("Abel", "Brandt", "Castell", "Dunmore", "Ekberg", "Farrow", "Grieg", "Holm"),
    *("Ivers", "Jarvis", "Keller", "Lindqvist", "Moreau", "Novak", "Okafor", "Petri"),
    *("Quist", "Rasmussen", "Silva", "Tamm", "Ude", "Varga", "Winter", "Zorn"),
)
STREETS = (
    *(
        "Market Lane",
        "Mill Street",
        "Harbour Road",
        "Chapel Hill",
        "Linden Square",
        "Station Road",
        "Bridge Street",
        "Orchard Way",
    ),
    *("Canal Side", "Castle Steps"),
)
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
PEOPLE = 6
NUMBERS = 12


class Item(Struct, frozen=True):
    """One thing that a business offers or shows."""

    name: str
    price: str
    """A price; for a trade without prices, a size or an age."""
    text: str


class Trade(Struct, frozen=True, kw_only=True):
    """A trade, and the words that all businesses of the trade use."""

    name: str
    field: str
    names: tuple[str, ...]
    headlines: tuple[str, ...]
    leads: tuple[str, ...]
    actions: tuple[str, ...]
    links: tuple[str, ...]
    roles: tuple[str, ...]
    figures: tuple[str, ...]
    praise: tuple[str, ...]
    items: tuple[Item, ...]

    @property
    def sells(self) -> bool:
        """True if all items have prices."""
        return all(item.price.startswith("$") for item in self.items)


class Subject(Struct, frozen=True, kw_only=True):
    """One business and the words of its page."""

    name: str
    trade: str
    title: str
    """The headline of the page."""
    lead: str
    action: str
    """The text of the main button."""
    links: tuple[str, ...]
    items: tuple[Item, ...]
    people: tuple[str, ...]
    roles: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]
    """Numbers, each with a label."""
    praise: tuple[str, ...]
    street: str
    phone: str
    dates: tuple[str, ...]
    numbers: tuple[int, ...]
    """Values for charts and lists, each from 15 to 98."""
    variant: int
    """A number that selects among wordings."""

    def pick(self, wordings: str) -> str:
        """Return one of several wordings, which are separated by ` / `."""
        choices = wordings.split(" / ")
        return choices[self.variant % len(choices)]


@cache
def trades() -> tuple[Trade, ...]:
    """Read all trades, in the order of their fields."""
    folder = files(__package__).joinpath("subjects")
    return tuple(
        _trade(file.name.removesuffix(".txt"), block.splitlines())
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        for block in file.read_text("utf-8").strip().split("\n\n")
    )


def draw(random: Random, trade: Trade, titles: tuple[str, ...]) -> Subject:
    """Draw a business of a trade. Its headline is one of `titles`, or of the trade's headlines if `titles` is empty."""
    title, *others = random.sample(trade.headlines, 2)
    figures = random.sample(trade.figures, len(trade.figures))
    return Subject(
        name=random.choice(trade.names),
        trade=trade.name,
        title=random.choice(titles) if titles else title,
        lead=random.choice((*trade.leads, *(f"{other}." for other in others))),
        action=random.choice(trade.actions),
        links=trade.links[: random.randint(3, 4)],
        items=tuple(random.sample(trade.items, len(trade.items))),
        people=_people(random),
        roles=trade.roles,
        figures=tuple((figure.split(" ", 1)[0], figure.split(" ", 1)[1]) for figure in figures),
        praise=tuple(random.sample(trade.praise, len(trade.praise))),
        street=f"{random.randint(2, 98)} {random.choice(STREETS)}",
        phone=f"555 {random.randint(100, 9999):04}",
        dates=tuple(f"{random.randint(1, 28)} {random.choice(MONTHS)}" for _ in range(PEOPLE)),
        numbers=tuple(random.randint(15, 98) for _ in range(NUMBERS)),
        variant=random.randrange(12),
    )


def _people(random: Random) -> tuple[str, ...]:
    first, last = random.sample(FIRST, PEOPLE), random.sample(LAST, PEOPLE)
    return tuple(f"{one} {two}" for one, two in zip(first, last, strict=True))


def _trade(field: str, lines: list[str]) -> Trade:
    name, names, headlines, leads, actions, links, roles, figures, praise, *items = lines
    return Trade(
        name=name,
        field=field,
        names=tuple(names.split(", ")),
        headlines=tuple(headlines.split(" / ")),
        leads=tuple(leads.split(" / ")),
        actions=tuple(actions.split(" / ")),
        links=tuple(links.split(", ")),
        roles=tuple(roles.split(", ")),
        figures=tuple(figures.split(" / ")),
        praise=tuple(praise.split(" / ")),
        items=tuple(Item(*item.split(" | ")) for item in items),
    )
