"""Pages about the whole: the front page, the paper's table, the log, and what the numbers and tiers mean."""

from __future__ import annotations

from collections.abc import Iterator

from colbench.numbers import count
from colbench.report.markup import Safe, element, join
from colbench_leaderboard.board.model import Board, Delta, Standings
from colbench_leaderboard.site import tables
from colbench_leaderboard.site.boards import entry_address, folder, title
from colbench_leaderboard.site.entries import change
from colbench_leaderboard.site.frame import SITE, Page
from colbench_leaderboard.site.text import (
    DOMAINS,
    TIERS,
    TRACKS,
    VALUES,
    between,
    plain,
    said,
    share,
    short,
)
from colbench_leaderboard.store.layout import Record

TOP = 5
"""Entries of a board on the front page."""
TIER_WORDS = {
    "T0": "The bundle has the form that it must have, and every task of the grid in it. Nothing was rescored.",
    "T1": "Every answer was scored again, and every turn and word counted again, from the transcripts and by the "
    "receiver’s own tasks. This shows that the scores follow from the transcripts. It does not show who wrote them: "
    "a T1 entry could hold dialogues that no model ever held.",
    "T2": "As T1, and the simulated human was asked again and gave the same replies, word for word. That takes one "
    "side of the dialogue out of the submitter’s hands. A human that is a model cannot be asked again offline; such an "
    "entry stays at T1.",
    "T3": "The maintainers ran the agent themselves; what came of it cannot be told apart from the entry.",
}


def front(standings: Standings) -> Page:
    """The boards, and the first of each."""
    words = (
        "How well does an agent work with a person? Each entry is a bundle of transcripts; every number here was "
        "recomputed from them, and anybody can do the same and get the same receipt."
    )
    content = [element("h1", SITE), element("p", words, class_="lead")]
    if not standings.boards:
        content.append(element("p", "The store has no entry yet.", class_="notice"))
    content += [_board(board) for board in standings.boards]
    return Page(path="index.html", title="Boards", content=content)


def _board(board: Board) -> Safe:
    address = f"{folder(board)}/index.html"
    about = (
        f"{count(board.tasks, 'task')} of ",
        said(board.source),
        f" · {count(len(board.rows), 'entry', 'entries')}",
    )
    heading = element("h2", element("a", title(board), href=address))
    parts = [heading, element("p", *about, class_="note")]
    if shown := board.rows[:TOP] or board.lines[:TOP]:
        heads = (tables.head("Entry"), tables.head(f"{VALUES[board.domain]}, %", number=True))
        rows = (
            tables.row(
                tables.name(
                    element("a", said(row.name), href=entry_address(row.bundle)),
                    element("small", said(row.organisation)),
                ),
                tables.number(
                    "",
                    row.value.mean,
                    element("b", share(row.value.mean)),
                    element("small", between(row.value)),
                ),
            )
            for row in shown
        )
        what = (
            (f"The first {len(shown)}" if len(shown) > 1 else "The first")
            if board.rows
            else "No ranked entry yet; lines to compare with"
        )
        parts.append(
            tables.table(
                f"{what}, with 95 % intervals", heads, rows, label=title(board), sortable=False
            )
        )
        parts.append(element("p", element("a", "The whole board", href=address)))
    return element("section", *parts, class_="board")


def paper(standings: Standings) -> Page:
    """The paper's Table 2."""
    heads = (
        tables.head("Setting"),
        tables.head("Model"),
        tables.head("Tests passed, %", number=True),
        tables.head("Success, %", number=True),
        tables.head("Cosine", number=True),
        tables.head("Win rate, %", number=True),
    )
    rows = (
        tables.row(
            tables.cell(each.setting),
            element("th", each.model, scope="row", class_="stick"),
            *(
                tables.number(f"{value:.1f}", value)
                for value in (each.tests, each.success, each.cosine, each.win)
            ),
        )
        for each in standings.reported
    )
    notice = element(
        "p",
        element("strong", "Reported, not recomputed. "),
        "These numbers stand in the paper. No transcript of them is public, so nobody here has recomputed one, "
        "and they have no place on any board. Their tasks, human and scorer differ from those of the boards.",
        class_="notice",
    )
    source = (
        "Zhou, Jiang, Tian, Weston, Levine, Sukhbaatar and Li: SWEET-RL: Training Multi-Turn LLM Agents on "
        "Collaborative Reasoning Tasks, arXiv 2503.15478 (2025), Table 2; 1,000 tasks of backend programming, 500 of "
        "frontend design. The paper gives no intervals; one standard error of a success rate of 40 % over 1,000 tasks "
        "is 1.5 points."
    )
    return Page(
        path="paper.html",
        title="The paper’s table",
        content=[
            element("h1", "The paper’s table"),
            notice,
            tables.table("Table 2 of the paper, as reported there", heads, rows, label="Table 2"),
            element("p", source, class_="note prose"),
        ],
    )


def log(standings: Standings, names: dict[str, str]) -> Page:
    """Every decision, with the chain of hashes. `names`: of entries that stand, by digest."""
    changed = {delta.record: delta for delta in standings.deltas}
    heads = ("Record", "Time", "Decision", "Entry", "Reason", "Changed", "Hash of the line before")
    rows = (
        _record(record, names, changed.get(record.number)) for record in reversed(standings.records)
    )
    words = (
        "What is shown on this site follows from these decisions and from what they name by hash. Each line of the log "
        "holds the hash of the line before, so that none can be changed, moved or taken out without all after it "
        "being written anew; whoever notes the head can tell."
    )
    caption = f"{count(len(standings.records), 'decision')}, the latest first"
    return Page(
        path="log.html",
        title="Log",
        content=[
            element("h1", "Log of decisions"),
            element("p", words, class_="lead"),
            tables.facts("The log", (("Head", element("span", standings.head, class_="hash")),)),
            element("p", "Download: ", element("a", "log.jsonl", href="log.jsonl")),
            element(
                "div",
                element("pre", f"colbench leaderboard audit STORE --head {standings.head}"),
                class_="command",
            ),
            tables.table(caption, map(tables.head, heads), rows, label="Log"),
        ],
    )


def _record(record: Record, names: dict[str, str], delta: Delta | None) -> Safe:
    name = names.get(record.bundle)
    digest = element("code", short(record.bundle))
    entry = (
        join((element("a", said(name), href=entry_address(record.bundle)), " ", digest))
        if name
        else digest
    )
    kind = {"accepted": "good", "refused": "bad", "removed": "bad"}.get(record.decision)
    return tables.row(
        tables.number(str(record.number), record.number),
        tables.cell(record.time.replace("T", " ").replace("Z", " UTC"), class_="when"),
        tables.cell(element("span", record.decision, class_=kind)),
        tables.cell(entry, class_="entry"),
        tables.cell(said(record.reason), class_="wide" if record.reason else None),
        tables.cell(change(delta)),
        tables.cell(element("code", record.previous[:16], title=record.previous)),
        id_=f"r{record.number}",
    )


def about() -> Page:
    """What tiers, tracks and numbers mean."""
    content = [element("h1", "About"), element("div", *_about(), class_="prose")]
    return Page(path="about.html", title="About", content=content)


def _about() -> Iterator[Safe]:
    yield element("h2", "Tiers", id="tiers")
    yield element(
        "dl", *(part for tier, words in TIER_WORDS.items() for part in _tier(tier, words))
    )
    yield element("h2", "Tracks")
    yield element(
        "p",
        f"{TRACKS['standard']}: the bundled or official test tasks, the prescribed simulated human, 10 turns, a "
        f"harness without changes. {TRACKS['open']}: anything. A board holds the entries of one track on the same "
        f"tasks of one domain, {DOMAINS['backend'].lower()} or {DOMAINS['frontend'].lower()}; no number blends boards.",
    )
    yield element("h2", "Numbers")
    for words in NUMBERS:
        yield element("p", words)


NUMBERS = (
    "A score is the mean over tasks of the mean over trials, never the best trial. A dialogue that is missing or "
    "failed counts 0.",
    "Intervals are 95 % bootstrap intervals that draw whole tasks. The interval of a place is from drawing the same "
    "tasks for all entries at once.",
    "A against B is paired by task: differences with their interval, wins, ties and losses, a p value of McNemar’s "
    "exact test or of random flips of signs, adjusted after Holm for all comparisons of the view.",
    "Tokens and cost are as the bundle states them; the receiver cannot count what was never sent. Turns and words are "
    "counted from the transcripts.",
    "“Undisclosed” is the share of the hidden facts that an answer used before the human had told them. A high share "
    "means that the answer knew more than the dialogue did.",
)


def _tier(tier: str, words: str) -> tuple[Safe, Safe]:
    names = {key: value for key, value in TIERS.items() if key == tier}
    heading = element("dt", *(f"{key}: {plain(value)}" for key, value in names.items()))
    return heading, element("dd", words)
