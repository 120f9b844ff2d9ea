"""The files of a site: complete, safe, deterministic, and built from the store alone."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from threading import Thread
from urllib.parse import urldefrag, urljoin

import msgspec
import pytest
from msgspec.structs import replace

from colbench.errors import DataError, UserError
from colbench_leaderboard.board.model import Board
from colbench_leaderboard.board.results import Results
from colbench_leaderboard.board.standings import read_standings
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.site import boards, compare, dialogues, entries, overview, tradeoff
from colbench_leaderboard.site.boards import as_csv
from colbench_leaderboard.site.build import build
from colbench_leaderboard.site.compare import differing
from colbench_leaderboard.site.layout import POLICY, Layout
from colbench_leaderboard.site.reproduce import command
from colbench_leaderboard.site.serve import server
from colbench_leaderboard.site.text import LONGEST
from colbench_leaderboard.store.entries import read_scores
from colbench_leaderboard.store.layout import LOG
from colbench_leaderboard.verify.receipt import SCORES, CellScore, Finding

ELEMENTS = set(
    "a article bdi body button caption circle code dd details div dl dt figcaption figure footer h1 h2 h3 head header "
    "html img input label li line link main meta nav ol option p polyline pre rect script section select small span "
    "strong style summary svg table tbody td text th thead title tr ul b".split()
)


class ParsedPage(HTMLParser):
    """The elements and words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words += data


@pytest.fixture(scope="module")
def pages(site) -> dict[str, ParsedPage]:
    return {
        path.relative_to(site).as_posix(): ParsedPage(path.read_text())
        for path in sorted(site.rglob("*.html"))
    }


def test_every_link_leads_to_an_existing_file_and_anchor(site, pages):
    ids = {
        name: {attributes.get("id") for _, attributes in page.elements}
        for name, page in pages.items()
    }
    links = 0
    for name, page in pages.items():
        for _, attributes in page.elements:
            for address in filter(None, (attributes.get("href"), attributes.get("src"))):
                if address == "https://example.org":
                    continue
                target, place = urldefrag(urljoin(name, address))
                assert (site / target).is_file(), f"{name}: {address}"
                assert not place or place in ids[target], f"{name}: {address}"
                links += 1
    assert links > 1000


def test_submitted_text_is_never_interpreted_as_markup(pages, standings):
    for name, page in pages.items():
        scripts = 0
        for tag, attributes in page.elements:
            assert tag in ELEMENTS, f"{name}: <{tag}>"
            assert not any(key.startswith("on") or key == "style" for key in attributes), name
            scripts += tag == "script" and bool(attributes["src"])
        assert scripts == 1
        assert "\u202e" not in page.words
    hostile = next(e for e in standings.entries.values() if e.submission.name.startswith("="))
    page = pages[f"entries/{hostile.bundle[:12]}/index.html"]
    told = hostile.submission
    for text in (told.name, told.description, told.organization, told.models[0].name):
        assert text in page.words
    assert hostile.receipt.findings[0].message in page.words


def test_every_page_has_a_policy_that_allows_no_external_sources(pages):
    for page in pages.values():
        policy = [a["content"] for tag, a in page.elements if a.get("http-equiv")]
        assert policy == [POLICY]
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_verification_levels_are_not_named_like_the_tiers_of_the_sandbox(pages, board):
    entry = pages[f"entries/{board.rows[0].bundle[:12]}/index.html"].words
    assert "Verification levelV1: rescored" in entry
    for name in ("about.html", f"boards/{board.key}/index.html"):
        assert {"V1", "V2", "V3"} <= set(re.findall(r"\b[A-Z]\d\b", pages[name].words))
        assert not re.search(r"\bT\d\b|[Tt]ier", pages[name].words)


@pytest.mark.parametrize(
    ("track", "rules"),
    [
        (
            "Standard",
            "all tasks of a test set, the rule-based simulated human, 10 turns",
        ),
        ("Open", "any complete run on tasks of one domain, except a run with --told all"),
    ],
)
def test_the_about_page_states_the_rules_of_each_track(pages, track, rules):
    assert f"{track}: {rules}" in pages["about.html"].words


def test_building_a_site_again_gives_the_same_bytes(tmp_path, store, standings, tasks, site):
    build(store.folder, standings, tmp_path / "again", tasks[1:])
    assert contents(tmp_path / "again") == contents(site)


def contents(folder: Path) -> dict[str, str]:
    """Return the hash of each file in a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_offered_bundles_have_the_digests_of_the_accepted_ones(site, standings):
    for bundle in standings.entries:
        with read_bundle(site / f"entries/{bundle[:12]}/{bundle[:12]}.tar.gz") as offered:
            assert offered.digest == bundle


def test_a_page_of_comparisons_lists_the_tasks_on_which_two_differ(site, store, standings, board):
    first, second = board.rows[1], board.rows[0]
    values = {
        row.bundle: {score.task_id: score.value for score in scores_of(store, standings, row)}
        for row in (first, second)
    }
    mine, theirs = values[first.bundle], values[second.bundle]
    apart = {
        task: mine[task] - theirs[task] for task in mine if abs(mine[task] - theirs[task]) > 0.001
    }
    page = (site / f"boards/{board.key}/against/{first.bundle[:12]}.html").read_text()
    _, _, rest = page.partition(f'<table id="t-{second.bundle[:12]}"')
    table = ParsedPage(rest.partition("</table>")[0])
    listed = re.findall(r"backend-task-\d{4}", table.words)
    assert sorted(listed) == sorted(apart)
    assert [abs(apart[task]) for task in listed] == sorted(map(abs, apart.values()), reverse=True)
    links = [attributes["href"] for tag, attributes in table.elements if tag == "a"]
    for task, own, other in zip(listed, links[1::3], links[2::3], strict=True):
        place = list(mine).index(task)
        for row, address in ((first, own), (second, other)):
            name, _, mark = address.partition("#")
            assert name.endswith(f"entries/{row.bundle[:12]}/dialogues-{place // 25 + 1:03d}.html")
            dialogue = (site / "boards/x/against" / name).resolve().read_text()
            assert f'<article class="dialogue" id="{mark}">\n<h2 tabindex="-1">' in dialogue
            after = dialogue.partition(f'id="{mark}"')[2]
            assert after.index(task) < 200


def scores_of(store, standings, row):
    entry = standings.entries[row.bundle]
    return read_scores(store.folder, entry.current, entry.receipt)


def test_comparisons_of_many_entries_list_only_the_largest_differences():
    results = Results(tuple(f"task {n:03}" for n in range(100)), (0.0, 1.0))
    for name, shift in (("one", 0), *((f"other {n}", 1) for n in range(50))):
        results.add(name, [cell(task, n + shift * n) for n, task in enumerate(results.tasks)])
    found = differing(results, "one", results.bundles[1:])
    assert {each.total for each in found.values()} == {99}
    assert [task.place for task in found["other 7"].tasks] == list(range(99, 79, -1))
    assert found["other 7"].tasks[0].theirs == 2 * found["other 7"].tasks[0].mine


def cell(task, value):
    counted = dict.fromkeys(("turns", "agent_words", "human_words"), 1)
    return CellScore(
        task_id=task, trial=0, value=value / 200, success=False, answered=True, **counted
    )


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("bundled:backend/test", []),
        ("official:backend/test", ["--tasks", "official:backend/test"]),
        ("bundled:backend/train", ["--tasks", "YOUR_TASKS"]),
        ("'; rm -rf ~", ["--tasks", "YOUR_TASKS"]),
    ],
)
def test_the_verify_command_names_the_tasks_packages_and_bundles_it_needs(standings, source, named):
    entry = next(iter(standings.entries.values()))
    lock = replace(
        entry.lock,
        tasks=replace(entry.lock.tasks, source=source),
        config={"sandbox_packages": ["numpy", "scipy"]},
    )
    shared = Finding(
        rule="audit.duplicates",
        severity="flag",
        file="",
        message=f"are those of X, bundle {'a' * 64}",
    )
    entry = replace(entry, lock=lock, receipt=replace(entry.receipt, findings=(shared,)))
    packages = ["--sandbox-packages", "numpy,scipy"]
    start = ["colbench", "verify", f"{entry.bundle[:12]}.tar.gz", *named, *packages]
    others = {"a" * 64: "aaaaaaaaaaaa.tar.gz", "b" * 64: f"STORE/entries/{'a' * 64}/bundle"}
    for standing, other in others.items():
        said = command(entry, {standing})
        assert said == [*start, "--against", other, "--out", "receipt"]


def test_a_flagged_entry_is_listed_separately_with_its_flag_and_reason(site, board, pages):
    (flagged,) = board.flagged
    front = pages[f"boards/{board.key}/index.html"].words
    assert "Flagged, not ranked" in front
    assert front.index("Flagged, not ranked") < front.index("audit.x") < front.index("Downloads")
    assert MARK in front.partition("Flagged, not ranked")[2]
    entry = pages[f"entries/{flagged.bundle[:12]}/index.html"].words
    assert (
        "is not ranked until a keeper of the leaderboard decides about its flags: audit.x" in entry
    )
    assert flagged.bundle[:12] not in (site / "index.html").read_text()


def test_tokens_and_cost_are_labeled_as_reported(board, pages):
    front = pages[f"boards/{board.key}/index.html"].words
    assert "Tokens, reported" in front
    assert "are stated by the submitters" in front
    counted = next(row for row in board.rows if row.tokens is not None)
    assert "Tokens, reported" in pages[f"entries/{counted.bundle[:12]}/index.html"].words


def test_downloads_contain_the_numbers_of_the_board(site, board):
    here = site / "boards" / board.key
    assert msgspec.json.decode((here / "board.json").read_bytes(), type=Board) == board
    rows = list(csv.DictReader(io.StringIO((here / "board.csv").read_text())))
    everyone = board.everyone
    assert [row["bundle"] for row in rows] == [row.bundle for row in everyone]
    assert [float(row["value"]) for row in rows] == [row.value.mean for row in everyone]
    hostile = next(row for row in rows if MARK in row["name"])
    assert hostile["name"].startswith("'=")  # no formula


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@A1", "\uff1d1+1", "\uff20A1"])
def test_names_in_the_csv_are_not_spreadsheet_formulas(board, name):
    rows = (msgspec.structs.replace(board.rows[0], name=name),)
    (row,) = csv.DictReader(
        io.StringIO(as_csv(msgspec.structs.replace(board, rows=rows, flagged=(), lines=())))
    )
    assert row["name"] == f"'{name}"


def test_the_chart_shows_only_the_first_turns_of_a_very_long_entry(board):
    many = msgspec.structs.replace(board.rows[0], success_by_turn=(0.5,) * 1000)
    rows = (many, *board.rows[1:])
    page = Layout().html(tradeoff.page(msgspec.structs.replace(board, rows=rows)))
    assert f"The first {tradeoff.MOST_TURNS} turns" in page
    assert page.count('<th scope="col"') < 2 * tradeoff.MOST_TURNS


MARK = "<script>"


def test_removed_and_refused_entries_appear_only_in_the_log(pages, standings):
    assert "Removed system" not in "".join(page.words for page in pages.values())
    log = pages["log.html"].words
    assert "copied <script>" in log
    assert "f" * 12 in log
    assert standings.head in log
    for record in standings.records:
        assert record.previous[:16] in log


def test_a_dialogue_shows_its_answer_and_the_reference_of_an_available_task(
    site, pages, board, tasks
):
    name = board.rows[0].bundle[:12]
    page = pages[f"entries/{name}/dialogues-001.html"]
    with read_bundle(site / f"entries/{name}/{name}.tar.gz") as bundle:
        answers = [cell.rollout.answer for cell in bundle.cells()]
    assert all(answer.strip() in page.words for answer in answers[:25])
    assert tasks[1].hidden.reference in page.words
    assert tasks[0].hidden.reference not in page.words
    assert page.words.count("The reference of this task is not available.") == 1


def test_long_texts_are_shortened_with_a_note(pages, standings):
    hostile = next(e for e in standings.entries.values() if e.submission.name.startswith("="))
    page = pages[f"entries/{hostile.bundle[:12]}/dialogues-001.html"]
    assert "more characters are in the bundle]" in page.words
    assert len(page.words) < 26 * (LONGEST + 3000)


def test_the_papers_table_is_shown_as_reported(pages, standings):
    words = pages["paper.html"].words
    assert "Reported, not recomputed." in words
    assert all(f"{each.tests:.1f}" in words and each.model in words for each in standings.reported)
    assert "56.8" not in pages["index.html"].words


def test_a_folder_with_other_files_is_not_overwritten(tmp_path, store, standings):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="contains something other than a site"):
        build(store.folder, standings, tmp_path / "mine", [])
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "thesis.tex"]
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "x"


def test_building_into_a_link_keeps_the_link(tmp_path, stores):
    made = stores.make_store(tmp_path / "store", 0, stores.make_tasks(1))
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for _ in range(2):
        build(made.folder, read_standings(made.folder), tmp_path / "link", [])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "index.html").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real", "store"]


def test_a_failed_build_keeps_the_previous_site(tmp_path, stores):
    made = stores.make_store(tmp_path / "store", 1, stores.make_tasks(2))
    out = tmp_path / "site"
    build(made.folder, read_standings(made.folder), out, [])
    (out / "index.html").write_text("The previous site.")
    before = contents(out)
    standings = read_standings(made.folder)
    bundle = standings.boards[0].rows[0].bundle
    scores = next((made.folder / "entries" / bundle).rglob(SCORES))
    scores.write_bytes(scores.read_bytes().replace(b'"turns":', b'"turns": '))
    with pytest.raises(DataError, match="but should be"):
        build(made.folder, standings, out, [])
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_rebuilt_site_contains_no_files_of_a_removed_entry(tmp_path, stores):
    made = stores.make_store(tmp_path / "store", 2, stores.make_tasks(2))
    out = tmp_path / "site"
    first = read_standings(made.folder)
    build(made.folder, first, out, [])
    gone = first.boards[0].rows[0].bundle
    made.decide("removed", gone, reason="asked for")
    build(made.folder, read_standings(made.folder), out, [])
    assert [path for path in out.rglob("*") if gone[:12] in path.as_posix()] == []
    assert (out / LOG).read_bytes() == (made.folder / LOG).read_bytes()


def test_the_pages_of_a_rerun_and_its_entry_link_to_each_other(tmp_path, stores):
    made = stores.Store(tmp_path / "store", stores.make_tasks(4))
    first = made.add(stores.Entrant(name="System", skill=0.4))
    again = made.add(stores.Entrant(name="System", skill=0.4, reruns=first, notes="ours"))

    def words(bundle: str) -> str:
        build(made.folder, read_standings(made.folder), tmp_path / "site", [])
        return (tmp_path / f"site/entries/{bundle[:12]}/index.html").read_text()

    assert "ran this system themselves. Their run agrees with this entry" in words(first)
    assert f'href="../../entries/{again[:12]}/index.html"' in words(first)
    assert f'href="../../entries/{first[:12]}/index.html"' in words(again)
    assert "the maintainers’ run · open weights · not ranked</p>" in words(again)
    made.decide("removed", first, reason="asked for")
    assert "This is the maintainers’ own run of" in words(again)
    assert f'href="../../entries/{first[:12]}/index.html"' not in words(again)


def test_an_empty_store_has_a_site(tmp_path):
    (tmp_path / LOG).write_bytes(b"")
    build(tmp_path, read_standings(tmp_path), tmp_path / "site", [])
    assert "The store has no entry yet." in (tmp_path / "site/index.html").read_text()


def test_page_data_is_plain_json_without_markup(store, standings, board):
    row = board.rows[0]
    entry, scores = standings.entries[row.bundle], scores_of(store, standings, row)
    made = [
        *overview.pages(standings),
        boards.ranking(board),
        tradeoff.page(board),
        compare.choice(board, board.rows),
        entries.page(entry, row, board, history=[], deltas=[], standing=()),
        dialogues.listing(row, board, scores, {}),
    ]
    for page in made:
        assert "Markup" not in repr(page.data)
        assert msgspec.json.decode(msgspec.json.encode(page.data)).keys() == page.data.keys()


@pytest.fixture
def third_domain(tmp_path, monkeypatch):
    """Install a package with a domain that is scored by one rounded number, without success."""
    information = tmp_path / "packages" / "haiku-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: haiku\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[colbench.domains]\nhaiku = haiku:Haiku\n")
    (tmp_path / "packages" / "haiku.py").write_text(HAIKU)
    monkeypatch.syspath_prepend(tmp_path / "packages")


HAIKU = """
from colbench.domain import Defaults, Domain, Metric

class Haiku(Domain):
    name, title, noun = "haiku", "Haiku <writing>", "poem"
    metrics = (Metric(name="beauty", label="beauty & form", role="primary", digits=3),)
    defaults = Defaults(tasks="bundled:haiku", agent="poet")
"""


@pytest.mark.usefixtures("third_domain")
def test_a_board_of_an_external_domain_uses_the_domains_terms(tmp_path, stores):
    tasks = stores.make_tasks(4, "haiku")
    made = stores.make_store(tmp_path / "store", 3, tasks)
    standings = read_standings(made.folder)
    build(made.folder, standings, tmp_path / "site", tasks)
    site, (board,) = tmp_path / "site", standings.boards
    entry = f"entries/{board.rows[0].bundle[:12]}"

    def words(name: str) -> str:
        return " ".join(ParsedPage((site / name).read_text()).words.split())

    assert "Standard · Haiku <writing>" in words("index.html")
    here = f"boards/{board.key}"
    assert "Ranked by beauty & form" in words(f"{here}/index.html")
    assert "Beauty & form by turn" in words(f"{here}/charts.html")
    assert (
        "Mean score, over all dialogues, of the last poem that the agent had shown by a turn."
        in words(f"{here}/charts.html")
    )
    assert "Beauty & form, points" in words(f"{here}/against/{board.rows[0].bundle[:12]}.html")
    assert "Mean beauty & form, %" in words(f"{here}/tasks.html")
    assert "Beauty & form, %" in words(f"{entry}/dialogues.html")
    assert "Beauty & form" in words(f"{entry}/dialogues-001.html")
    assert "byte for byte (scores are rounded to 3 decimals first):" in words(f"{entry}/index.html")
    for page in site.rglob("*.html"):
        assert "solved" not in page.read_text().lower()
        assert page == site / "paper.html" or "Success" not in page.read_text()


def test_a_site_is_served_only_on_localhost(site):
    with server(site, 0) as running:
        host, port = running.server_address[:2]
        Thread(target=running.serve_forever, daemon=True).start()
        with urllib.request.urlopen(f"http://{host}:{port}/") as answer:
            assert answer.read() == (site / "index.html").read_bytes()
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        running.shutdown()
    assert host == "127.0.0.1"


@pytest.mark.parametrize("port", [-1, 70000])
def test_an_invalid_port_is_refused(site, port):
    with pytest.raises(UserError, match="expected a number from 0 to 65535"):
        server(site, port)
