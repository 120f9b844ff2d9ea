"""An entry: its numbers, what was found, what pins it, and how anybody verifies it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from colbench.numbers import NOTHING, count
from colbench.report.markup import Safe, element, join
from colbench_leaderboard.board.model import Board, Delta, Entry, Row
from colbench_leaderboard.bundle.schema import Submission
from colbench_leaderboard.site import charts, proof, tables
from colbench_leaderboard.site.boards import bar, disclosed, entry_address, folder, title
from colbench_leaderboard.site.frame import Page
from colbench_leaderboard.site.text import (
    TIERS,
    VALUES,
    amount,
    between,
    cut,
    dollars,
    hashed,
    link,
    plain,
    said,
    share,
    short,
    signed,
    trials,
)
from colbench_leaderboard.store.layout import Record
from colbench_leaderboard.verify.receipt import Estimate, Finding

FINDINGS = 1000
"""Findings that a page shows; the receipt has all."""


def entry_folder(bundle: str) -> str:
    """Where an entry's pages are."""
    return f"entries/{short(bundle)}"


def page(
    entry: Entry,
    row: Row,
    board: Board,
    *,
    history: Sequence[Record],
    deltas: Sequence[Delta],
    standing: Collection[str],
) -> Page:
    """The entry's page. `standing`: the digests of all entries that stand, whose bundles the site offers."""
    here = entry_folder(entry.bundle)
    return Page(
        path=f"{here}/index.html",
        title=plain(row.name),
        trail=((f"{folder(board)}/index.html", title(board)),),
        content=[
            element("h1", said(row.name)),
            element("p", *_under(entry, row), class_="lead"),
            _more(entry, board),
            _tiles(row, board),
            _place(row),
            _again(row, board),
            _curve(row, board),
            _findings(entry.receipt.findings),
            proof.section(entry, standing),
            _about(entry.submission),
            _pins(entry),
            _history(history, deltas),
            _downloads(),
        ],
    )


def _under(entry: Entry, row: Row) -> Iterator[str]:
    yield said(entry.submission.organisation)
    yield " · "
    tier = row.tier
    yield element("span", tier, class_="tier")
    yield f" {TIERS[tier]} · {trials(row.trials)} · accepted {row.date}"
    for words in (*disclosed(row), *(["open weights"] if row.open_weights else [])):
        yield f" · {words}"
    if row.rank is None:
        yield " · a line to compare with, not ranked"


def _tiles(row: Row, board: Board) -> Safe:
    shown = [_share_tile(VALUES[board.domain], row.value)]
    if row.success:
        shown.append(_share_tile("Success", row.success))
    if len(row.pass_k) > 1:
        shown.append(
            _tile(f"Pass^{len(row.pass_k)}", f"{share(row.pass_k[-1])} %", "all trials succeed")
        )
    shown.append(_mean_tile("Turns", row.turns))
    shown.append(_mean_tile("Human words", row.human_words))
    shown.append(_mean_tile("Agent words", row.agent_words))
    shown.append(_tile("Answered", f"{share(row.answered)} %", "of the dialogues"))
    if row.undisclosed is not None:
        shown.append(
            _tile("Undisclosed", f"{share(row.undisclosed)} %", "facts used before they were told")
        )
    if row.tokens is not None:
        shown.append(_tile("Tokens", amount(row.tokens, 0), "of the agent, a dialogue, as stated"))
    if row.cost is not None:
        shown.append(_tile("Cost", dollars(row.cost), "a dialogue, at the stated price"))
    return element("dl", *shown, class_="tiles")


def _share_tile(name: str, value: Estimate) -> Safe:
    return _tile(name, f"{share(value.mean)} %", f"{between(value)} %", bar(value))


def _mean_tile(name: str, value: Estimate) -> Safe:
    return _tile(name, amount(value.mean), f"{amount(value.low)}–{amount(value.high)}")


def _tile(name: str, value: str, note: str, *more: str) -> Safe:
    return element(
        "div",
        element("dt", name),
        element("dd", value, class_="value"),
        element("dd", note, *more, class_="note"),
        class_="tile",
    )


def _place(row: Row) -> Safe:
    if row.rank is None:
        return Safe()
    words = f"Place {row.rank.place} (95 % interval {row.rank.low}–{row.rank.high}); "
    return element("p", words, said(row.rank.words), ".", class_="note prose")


def _again(row: Row, board: Board) -> Safe:
    """Whether the maintainers ran the system themselves, and what came of it."""
    if row.reruns:
        words, other = "This is the maintainers’ own run of ", row.reruns
    elif row.rerun:
        agrees = row.tier == "T3"
        came = "which agrees with it" if agrees else "which does not agree with it"
        words, other = f"The maintainers ran this system themselves, {came}: ", row.rerun
    else:
        return Safe()
    digest: Safe = element("code", short(other))
    if any(other == each.bundle for each in (*board.rows, *board.lines)):
        digest = link(digest, f"../../{entry_address(other)}")
    return element("p", words, digest, ".", class_="note prose")


def _more(entry: Entry, board: Board) -> Safe:
    links = (
        element("a", "Dialogues", href="dialogues.html"),
        element(
            "a",
            "Against the others",
            href=f"../../{folder(board)}/against/{short(entry.bundle)}.html",
        ),
    )
    return element("nav", *links, class_="ways", aria_label="This entry")


def _curve(row: Row, board: Board) -> Safe:
    if not row.success_by_turn:
        return Safe()
    name = "Success by turn" if board.domain == "backend" else "Cosine by turn"
    curve = charts.Curve(name=row.name, shares=row.success_by_turn, best=True)
    rows = (
        tables.row(element("th", str(n), scope="row"), tables.number(share(each), each))
        for n, each in enumerate(row.success_by_turn, start=1)
    )
    heads = (tables.head("Turn"), tables.head("%", number=True))
    numbers = tables.table(name, heads, rows, label=name, sortable=False)
    behind = element("details", element("summary", "The numbers as a table"), numbers)
    head = element("figcaption", element("h2", name))
    return element("figure", head, charts.by_turn(name, [curve]), behind, class_="big")


def _findings(findings: Sequence[Finding]) -> Safe:
    heading = element("h2", "Findings", id="findings")
    if not findings:
        return join((heading, element("p", "Nothing was found amiss.", class_="prose")))
    heads = ("Severity", "Rule", "Where", "What")
    rows = (
        tables.row(
            tables.cell(
                element("span", each.severity, class_="flag" if each.severity != "note" else "tier")
            ),
            tables.cell(element("code", plain(each.rule))),
            tables.cell(said(_where(each))),
            tables.cell(said(each.message), class_="wide"),
        )
        for each in findings[:FINDINGS]
    )
    caption = (
        "What the verification found. A flag is shown beside the entry; a note is for the record."
    )
    if len(findings) > FINDINGS:
        caption += f" The first {FINDINGS:,} of {len(findings):,}; receipt.json has all."
    return join((heading, tables.table(caption, map(tables.head, heads), rows, label="Findings")))


def _where(finding: Finding) -> str:
    if not finding.file:
        return "the bundle"
    return finding.file + (f", line {finding.line}" if finding.line else "")


def _about(submission: Submission) -> Safe:
    """Who and what, and what is disclosed."""
    told = submission.disclosures
    models = [_model(each) for each in submission.models] or [Safe("none")]
    rows: list[tuple[str, str]] = [
        ("Description", element("span", plain(submission.description), class_="said")),
        ("Authors", join(_commas(map(said, submission.authors)))),
        ("Link", _link(submission.link)),
        ("Models", join(element("div", each) for each in models)),
        ("Trained on ColBench", _yes(told.trained_on_colbench, told.training_notes)),
        ("Human in the loop", _yes(told.human_in_the_loop)),
        ("Tools", said(told.tools)),
        ("Licence", f"{submission.licence}, of the transcripts"),
    ]
    caption = "As the submitters say"
    return join((element("h2", "About the system", id="about"), tables.facts(caption, rows)))


def _link(address: str) -> Safe:
    """An address that somebody gave; who follows it is not announced there."""
    if not address.startswith("https://"):
        return said(address or NOTHING)
    return element("a", plain(address), href=address, rel="nofollow noopener noreferrer")


def _model(model: Any) -> Safe:
    more: list[str] = [said(model.name)]
    if model.revision:
        more += [" at ", said(model.revision)]
    more.append(", open weights" if model.open_weights else ", closed weights")
    if model.licence:
        more += [", ", said(model.licence)]
    return join(more)


def _yes(answer: bool, notes: str = "") -> Safe:
    words = "yes" if answer else "no"
    return join((words, ": ", said(notes))) if notes else join((words,))


def _commas(parts: Any) -> Iterator[str]:
    for place, part in enumerate(parts):
        yield from ((", ", part) if place else (part,))


def _pins(entry: Entry) -> Safe:
    """Everything that could change a number."""
    lock = entry.lock
    pins = msgspec.json.format(
        msgspec.json.encode({"config": lock.config, "pins": lock.pins}), indent=2
    )
    rows: list[tuple[str, str]] = [
        (
            "ColBench",
            join((said(lock.colbench), f", commit {plain(lock.commit)}" if lock.commit else "")),
        ),
        ("Python", said(lock.python)),
        ("Sandbox", said(lock.sandbox or NOTHING)),
        ("Browser", said(lock.environment or NOTHING)),
        (
            "Tasks",
            join(
                (
                    f"{lock.tasks.count:,} of ",
                    said(lock.tasks.source),
                    ", ",
                    hashed(lock.tasks.hash),
                )
            ),
        ),
        ("Started", said(lock.started)),
        ("Configuration", hashed(lock.digest)),
    ]
    whole = element(
        "details", element("summary", "The whole configuration"), element("pre", cut(pins.decode()))
    )
    return join(
        (element("h2", "Pins", id="pins"), tables.facts("What the run was held with", rows), whole)
    )


def _history(history: Sequence[Record], deltas: Sequence[Delta]) -> Safe:
    changed = {delta.record: delta for delta in deltas}
    rows = (
        tables.row(
            tables.cell(element("a", str(record.number), href=f"../../log.html#r{record.number}")),
            tables.cell(record.time.replace("T", " ").replace("Z", " UTC"), class_="when"),
            tables.cell(record.decision),
            tables.cell(said(record.reason), class_="wide"),
            tables.cell(change(changed.get(record.number))),
        )
        for record in history
    )
    heads = map(tables.head, ("Record", "Time", "Decision", "Reason", "Changed"))
    table = tables.table("What was decided of it", heads, rows, label="History", sortable=False)
    return join((element("h2", "History", id="history"), table))


def change(delta: Delta | None) -> str:
    """What a rescoring changed, in words."""
    if delta is None:
        return ""
    return (
        f"{delta.differing:,} of {count(delta.cells, 'cell')} differ; mean value "
        f"{signed(delta.value_after - delta.value_before)} points"
    )


def _downloads() -> Safe:
    names = ("receipt.json", "summary.json", "scores.jsonl", "submission.json", "lock.json")
    links = join(join([element("a", name, href=name), " "]) for name in names)
    return join((element("h2", "Downloads", id="downloads"), element("p", links)))
