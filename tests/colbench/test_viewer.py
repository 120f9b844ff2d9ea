"""The viewer: the index of runs, the list and its filters, the page of a dialogue, and access from other hosts."""

from __future__ import annotations

import shutil
from html import unescape
from html.parser import HTMLParser

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer
from msgspec.structs import replace

import colbench
from colbench.cli import main
from colbench.errors import DataError, UserError
from colbench.rollout import encode_rollout, read_rollouts
from colbench.viewer.difference import MOST_LINES, compare_lines
from colbench.viewer.filters import Filters, read_filters
from colbench.viewer.index import REQUEST, RunIndex, index_runs
from colbench.viewer.listing import PER_PAGE
from colbench.viewer.pages import Showing, Stage, dialogue_page
from colbench.viewer.server import ServerLinks, make_app, serve

HOSTILE = '</textarea></style><script>alert(1)</script><img src=x onerror="alert(2)">\x1b[2J\u202e'


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return the folders of two real runs: one agent asks everything, one guesses."""
    home = tmp_path_factory.mktemp("runs")
    for agent in ("interviewer", "guesser"):
        colbench.evaluate(agent=agent, tasks="bundled:backend", limit=6, out=home / agent)
    return [home / "interviewer", home / "guesser"]


@pytest.fixture
def copied(played, tmp_path):
    """Return the folder of a copy of the second run, which a test may change."""
    return colbench.load_run(played[1]).save(tmp_path / "copy").path


class Elements(HTMLParser):
    """Elements of a page and the addresses that it links to."""

    def __init__(self, page):
        super().__init__()
        self.names, self.links, self.handlers = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.links += [value for name, value in attrs if tag == "a" and name == "href"]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def dialogues(self):
        """Return the addresses of dialogues."""
        return [link for link in self.links if link.startswith("/runs/")]


async def get(folders, *addresses, **headers):
    """Return the status and the text of each address."""
    async with TestClient(TestServer(make_app(index_runs(folders)))) as client:
        found = []
        for address in addresses:
            async with client.get(address, headers=headers) as response:
                found.append((response.status, await response.text()))
        return found


def test_an_index_has_a_row_for_each_dialogue_and_reads_its_rollout(played):
    index = RunIndex(played[1], "guesser")
    rollouts = read_rollouts(played[1] / "rollouts.jsonl")
    assert [row.key for row in index.rows] == [rollout.key for rollout in rollouts]
    assert [index.rollout(row) for row in index.rows] == rollouts
    row, rollout = index.rows[0], rollouts[0]
    assert (row.turns, row.score) == (len(rollout.turns), rollout.scores["default"].value)
    assert len(row.untold) == rollout.asking.open > 0
    assert {row.outcome for row in index.rows} <= {"guessed", "crashed", "succeeded"}


def test_a_refresh_finds_added_and_replaced_dialogues_and_skips_a_torn_line(copied):
    file = copied / "rollouts.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    index = RunIndex(copied, "copy")
    assert len(index.rows) == 2
    with file.open("ab") as more:
        more.write(lines[2][50:] + lines[0])
    index.refresh()
    assert [row.start for row in index.rows] == [
        sum(map(len, lines[:3])),
        len(lines[0]),
        sum(map(len, lines[:2])),
    ]
    rewritten = copied / "new.jsonl"
    rewritten.write_bytes(b"".join(lines))
    rewritten.rename(file)
    index.refresh()
    assert len(index.rows) == len(lines)


def test_a_refresh_finds_a_longer_file_with_the_inode_number_of_an_earlier_one(copied):
    file, spare = copied / "rollouts.jsonl", copied / "spare.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    index = RunIndex(copied, "copy")
    longer = [replace(each, request="?" * 5000) for each in read_rollouts(file)]
    for content in (lines, map(encode_rollout, longer)):  # the second file may reuse a number
        spare.write_bytes(b"".join(content))
        spare.rename(file)
    index.refresh()
    assert {row.request for row in index.rows} == {"?" * REQUEST}


def test_a_complete_shard_has_all_its_planned_dialogues(tmp_path):
    colbench.evaluate(agent="guesser", limit=12, shard=(1, 2), out=tmp_path / "shard")
    index = RunIndex(tmp_path / "shard", "shard")
    assert 0 < index.planned == len(index.rows) < 12


def test_a_malformed_line_is_named(copied):
    file = copied / "rollouts.jsonl"
    index = RunIndex(copied, "copy")
    with file.open("ab") as more:
        more.write(b"{}\n")
    for read in (index.refresh, lambda: RunIndex(copied, "copy")):
        with pytest.raises(DataError, match="line 7: not a rollout"):
            read()


def test_runs_in_folders_with_the_same_name_get_distinct_names(played, copied):
    named = copied.rename(copied.with_name("guesser"))
    assert [run.name for run in index_runs([played[1], named, played[0]])] == [
        "guesser",
        "guesser-2",
        "interviewer",
    ]


def test_a_numbered_name_never_equals_the_name_of_another_folder(copied, tmp_path):
    folders = [tmp_path / "x/a-3", tmp_path / "y/a", tmp_path / "z/a", tmp_path / "w/a"]
    for folder in folders:
        shutil.copytree(copied, folder)
    assert [run.name for run in index_runs(folders)] == ["a-3", "a", "a-2", "a-4"]


def test_filters_select_sort_and_count(played):
    rows = [row for run in index_runs(played) for row in run.rows]
    failed = Filters(outcome="failed").select(rows)
    assert failed
    assert all(row.failed and row.run == "guesser" for row in failed)
    assert [r.score for r in Filters(sort="-score", run="guesser").select(rows)] == sorted(
        (row.score for row in rows if row.run == "guesser"), reverse=True
    )
    assert [(row.task_id, row.trial) for row in Filters().select(rows[::-1])] == sorted(
        (row.task_id, row.trial) for row in rows
    )
    decision = failed[0].untold[0]
    assert failed[0] in Filters(decision=decision).select(rows)
    assert all(decision in row.untold for row in Filters(decision=decision).select(rows))
    assert {row.run for row in Filters(least=100).select(rows)} == {"interviewer"}
    scored = [replace(rows[0], score=0.55)]  # 100 * 0.55 is 55.00000000000001
    assert Filters(least=55, most=55).select(scored) == scored
    assert Filters(text=rows[0].task_id.upper(), run=rows[0].run).select(rows) == [rows[0]]
    counts = Filters(outcome="failed", run="guesser").count(rows)
    assert sum(counts.values()) == 6
    assert sum(counts.values()) - counts.get("succeeded", 0) == len(failed)


def test_filters_round_trip_through_their_query():
    filters = Filters(text="a&b=c", outcome="failed", turns=0, least=12.5, sort="-score", page=3)
    query = dict(pair.split("=") for pair in filters.query[1:].split("&"))
    assert query["text"] == "a%26b%3Dc"
    assert read_filters(query | {"text": "a&b=c", "family": ""}) == filters
    assert filters.but(run="x").page == 1


@pytest.mark.parametrize(
    "query",
    [
        {"page": "0"},
        {"page": "x"},
        {"sort": "wrong"},
        {"sort": "-"},
        {"sort": "--score"},
        {"outcome": "odd"},
        {"least": "-"},
        {"colour": "red"},
    ],
)
async def test_an_invalid_filter_is_refused(played, query):
    with pytest.raises(UserError):
        read_filters(query)
    ((name, value),) = query.items()
    ((status, page),) = await get(played, f"/?{name}={value}")
    assert status == 400
    assert name in page


async def test_the_list_links_to_dialogues_that_link_to_their_neighbors(played):
    ((_, page),) = await get(played, "/?outcome=failed&sort=turns")
    links = Elements(page).dialogues()
    assert len(links) == len(set(links)) > 1
    (_, first), (_, second) = await get(played, *links[:2])
    assert Elements(first).dialogues() == links[1:2]
    assert links[0] in Elements(second).dialogues()
    assert "/?outcome=failed&sort=turns" in Elements(first).links


async def test_a_long_list_is_split_into_pages(copied):
    file = copied / "rollouts.jsonl"
    first = read_rollouts(file)[0]
    copies = [replace(first, key=f"{n:064x}") for n in range(PER_PAGE + 5)]
    file.write_bytes(b"".join(map(encode_rollout, copies)))
    found = await get([copied], "/", "/?page=2", "/?page=99")
    assert [len(Elements(page).dialogues()) for _, page in found] == [PER_PAGE, 5, 5]
    assert "/?page=2" in Elements(found[0][1]).links


async def test_a_dialogue_shows_the_chat_the_decisions_the_difference_and_the_tests(played):
    (run,) = index_runs(played[:1])
    rollout = run.rollout(run.rows[0])
    ((status, page),) = await get(played[:1], f"/runs/interviewer/{rollout.key}")
    text = unescape(page)
    assert status == 200
    for turn in rollout.turns:
        assert turn.said in text
        assert turn.human is None or turn.human in text
    told = next(n for n, turn in enumerate(rollout.turns, start=1) if turn.told)
    assert f'<a href="#turn-{told}">revealed in turn {told}</a>' in page
    assert f'id="turn-{told}"' in page
    checks = rollout.scores["default"].checks
    assert checks
    assert all(check.call in text for check in checks)
    assert all(line in text for line in rollout.answer.splitlines())


def test_the_bar_of_turns_shows_the_value_of_the_leading_metric(played):
    index = RunIndex(played[0], "interviewer")
    stages = [Stage(turn=1, metrics="cosine similarity 64.1%"), Stage(turn=2)]
    showing = Showing(neighbors=(None, None), stages=stages)
    page = dialogue_page(index, index.rows[0], ServerLinks(), showing)
    assert "<small>turn 1</small>64.1%</a>" in page
    assert "<small>turn 2</small>–</a>" in page


async def test_hostile_text_of_a_run_is_escaped_on_every_page(copied):
    file = copied / "rollouts.jsonl"
    content = msgspec.json.decode(file.read_bytes().splitlines()[0])
    content |= {"key": HOSTILE, "task_id": HOSTILE, "request": HOSTILE, "answer": HOSTILE}
    content["turns"] = [
        {
            "raw": HOSTILE,
            "said": HOSTILE,
            "human": HOSTILE,
            "asked": [HOSTILE],
            "told": [HOSTILE],
            "thoughts": HOSTILE,
        }
    ]
    score = {"call": HOSTILE, "outcome": "wrong", "expected": HOSTILE, "actual": HOSTILE}
    content["scores"]["default"] |= {"checks": [score], "note": HOSTILE, "metrics": {HOSTILE: 1.0}}
    content["failure"] = {"boundary": "agent", "reason": HOSTILE}
    file.write_bytes(msgspec.json.encode(content) + b"\n")
    ((_, listed),) = await get([copied], "/")
    (address,) = Elements(listed).dialogues()
    ((status, page),) = await get([copied], address)
    assert status == 200
    assert page.count("alert(1)") > 8
    for each in (listed, page):
        elements = Elements(each)
        assert elements.names.count("script") == elements.names.count("style") == 1
        assert "img" not in elements.names
        assert elements.handlers == []
        assert "\x1b" not in each
        assert "\u202e" not in each
    ((_, searched),) = await get([copied], "/?text=%22%3E%3Cscript%3E")
    assert Elements(searched).names.count("script") == 1


async def test_a_dialogue_whose_task_is_missing_is_shown_without_the_hidden_information(copied):
    file = copied / "rollouts.jsonl"
    first = read_rollouts(file)[0]
    (task,) = (task for task in colbench.load_run(copied).tasks if task.hash == first.task_hash)
    hidden = [fact.statement for fact in task.hidden.facts if not fact.stated]
    address = f"/runs/copy/{first.key}"
    ((_, complete),) = await get([copied], address)
    assert all(statement in unescape(complete) for statement in hidden)
    assert '<code class="reference">' in complete
    file.write_bytes(encode_rollout(replace(first, task_hash="other")))
    ((status, page),) = await get([copied], address)
    assert status == 200
    assert "no longer contains this task" in page
    assert first.answer.splitlines()[0] in unescape(page)
    assert not any(statement in unescape(page) for statement in hidden)
    assert '<code class="reference">' not in page


async def test_only_local_hosts_are_served_under_a_strict_content_policy(played):
    for host in (
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8642",
        "[",
        "localhost@evil.example",
    ):
        ((status, page),) = await get(played, "/", Host=host)
        assert status in (400, 403), host
        assert "guesser" not in page
    for host in ("localhost:1", "127.0.0.1"):
        assert (await get(played, "/", Host=host))[0][0] == 200
    async with TestClient(TestServer(make_app(index_runs(played)))) as client:
        for address, status in (("/", 200), ("/runs/guesser/none", 404), ("/other", 404)):
            async with client.get(address) as response:
                assert response.status == status
                policy = response.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; ")
                assert "unsafe" not in policy
                assert "frame-ancestors 'none'" in policy
                assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_the_list_grows_with_the_run(copied):
    file = copied / "rollouts.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.unlink()
    async with TestClient(TestServer(make_app(index_runs([copied])))) as client:
        for number in (0, 1, 2):
            async with client.get("/count") as response:
                assert await response.json() == {"dialogues": number}
            async with client.get("/") as response:
                assert len(Elements(await response.text()).dialogues()) == number
            with file.open("ab") as more:
                more.write(lines[number])


async def test_the_page_about_a_malformed_line_names_the_file_and_not_the_request(copied):
    async with TestClient(TestServer(make_app(index_runs([copied])))) as client:
        with (copied / "rollouts.jsonl").open("ab") as more:
            more.write(b"{}\n")
        async with client.get("/") as response:
            assert response.status == 400
            page = await response.text()
    assert "<h1>A file of the run cannot be read</h1>" in page
    assert "rollouts.jsonl, line 7: not a rollout" in page


def test_a_difference_has_every_line_of_both_texts_unless_they_are_too_long():
    reference, answer = "a\nfee = 80 * n\nc\nd", "a\nfee = 20 * n\nb\nc"
    found = compare_lines(reference, answer)
    assert [hunk.same for hunk in found] == [True, False, True, False]
    for side, text in (("reference", reference), ("answer", answer)):
        lines = [line for hunk in found for line in getattr(hunk, side)]
        assert [line.number for line in lines] == [1, 2, 3, 4]
        assert ["".join(part.text for part in line.parts) for line in lines] == text.splitlines()
    changed = found[1]
    assert [part.text for part in changed.reference[0].parts if part.changed] == ["80"]
    assert [part.text for part in changed.answer[0].parts if part.changed] == ["20"]
    assert found[3].answer == []
    assert compare_lines("a\n" * (MOST_LINES + 1), "a") is None


def test_an_invalid_port_is_refused(played):
    with pytest.raises(UserError, match="--port 70000"):
        serve(index_runs(played), 70000, print)


def test_invalid_arguments_of_the_view_command_are_named(played, capsys, tmp_path):
    folder = str(played[0])
    for words, message in (
        ([str(tmp_path)], "is not a run folder"),
        ([folder, folder, "--list"], "the terminal shows one run at a time"),
        ([folder, "--trial", "1"], "--trial: selects a trial of --task; set --task as well"),
        ([folder, "--list", "--open"], "--open: configures the web viewer"),
        ([folder, "--notes", "--port", "0"], "--port: configures the web viewer"),
    ):
        assert main(["view", *words]) == 2
        assert message in capsys.readouterr().err


def test_an_unknown_failure_class_is_refused_with_the_known_ones(played, capsys):
    with pytest.raises(SystemExit):
        main(["view", str(played[0]), "--failed", "foo"])
    assert "(choose from 'no_answer', 'crashed'" in capsys.readouterr().err


def test_exported_pages_link_only_to_one_another(played, tmp_path, capsys):
    target = tmp_path / "pages"
    assert main(["view", *map(str, played), "--export", str(target)]) == 0
    assert "12 dialogues" in capsys.readouterr().out
    files = sorted(target.rglob("*.html"))
    assert len([file for file in files if file.parent.name == "dialogues"]) == 12
    assert target / "failed.html" in files
    for file in files:
        elements = Elements(file.read_text("utf-8"))
        assert elements.links
        for link in elements.links:
            place, _, part = link.partition("#")
            assert not place or (file.parent / place).is_file(), (file, link)
            assert not part or f'id="{part}"' in file.read_text("utf-8")
    assert main(["view", str(played[0]), "--export", str(target)]) == 2
    assert "use a new or empty folder" in capsys.readouterr().err
