from __future__ import annotations

import gzip
import hashlib
import json
import re
from base64 import b64decode, b64encode
from html.parser import HTMLParser

import msgspec
import pytest

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.report import bundle
from colbench.report.write import write_report
from colbench.rollout import Failure, Rollout, Turn, encode_rollout
from colbench.run_folder import RunFolder, RunRecord, TaskSource
from colbench.score import Check, Score
from colbench.task import Hidden, Task

ATTACK = "</script><img src=x onerror=alert(1)>&amp;"
CONFIG = RunConfig(agent=f"agent{ATTACK}")
VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Elements and texts of a page; fails on a tag that is closed out of order."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.stack: list[str] = []
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.stack[-1] if self.stack else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def inside(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


def task(name: str) -> Task:
    hidden = Hidden(reference=f"def f(): return {ATTACK!r}", tests=("f()",))
    return Task(id=name, domain="backend", request=f"Please {ATTACK}", hidden=hidden)


def rollout(name: str, value: float = 1.0) -> Rollout:
    check = Check(call="f()", outcome="passed", expected=ATTACK, actual=ATTACK)
    score = Score(scorer="unit-tests", value=value, success=value == 1, checks=(check,))
    return Rollout(
        key=name,
        task_id=name,
        task_hash=task(name).hash,
        domain="backend",
        trial=0,
        seed=0,
        request="?",
        turns=(
            Turn(raw=f"I wonder. OUTPUT: {ATTACK}", said=ATTACK, human=ATTACK),
            Turn(raw="I WANT TO ANSWER: x", said=""),
        ),
        answer=ATTACK,
        ended_by="answer",
        scores={"default": score, "official": score},
    )


def lost(name: str) -> Rollout:
    failure = Failure(boundary="simulator", reason=ATTACK)
    return msgspec.structs.replace(
        rollout(name), answer=None, ended_by="failure", failure=failure, scores={}
    )


def run_folder(path, rollouts, config=CONFIG) -> RunFolder:
    folder = RunFolder(path)
    record = RunRecord(
        started="2025-01-01T00:00:00+00:00",
        config=config,
        pins={"agent": {"class": ATTACK}},
        digest="d",
        tasks=TaskSource(source="tasks.jsonl", count=2, hash="h"),
    )
    path.mkdir(exist_ok=True)
    folder.write("run.json", msgspec.json.encode(record))
    folder.write("rollouts.jsonl", b"".join(map(encode_rollout, rollouts)))
    return folder


@pytest.fixture
def page(tmp_path) -> Page:
    folder = run_folder(tmp_path / "run", [rollout("a"), lost("b")])
    write_report(folder, [task("a"), task("b")], CONFIG)
    return Page((folder.path / "report.html").read_text())


def test_the_page_shows_the_most_frequent_error_of_crashed_answers(tmp_path):
    check = Check(call="f()", outcome="error", actual=f"NameError: {ATTACK}")
    score = Score(scorer="unit-tests", value=0.0, success=False, checks=(check,))
    crashed = msgspec.structs.replace(rollout("a"), scores={"default": score})
    folder = run_folder(tmp_path / "run", [crashed])
    write_report(folder, [task("a")], CONFIG)
    page = Page((folder.path / "report.html").read_text())
    said = f"Most frequent error: 1 of 1 crashed answer, such as NameError: {ATTACK}"
    assert said in page.inside("p")
    assert not page.all("img")


def test_the_page_of_a_run_without_a_finished_dialogue_shows_a_note(tmp_path):
    folder = run_folder(tmp_path / "run", [])
    write_report(folder, [task("a")], CONFIG)
    page = (folder.path / "report.html").read_text()
    assert "<b>Scored</b>: 0 of 1 dialogue; no dialogue is finished yet" in page
    assert "unscored as 0" not in page


def sha256(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_page_is_well_formed_and_no_text_becomes_markup(page):
    assert page.stack == []
    assert not page.all("img")


def test_the_page_makes_no_network_requests(page):
    fetching = {"src", "data", "action", "poster", "srcset", "xlink:href"}
    for _, attributes in page.elements:
        assert not fetching & attributes.keys()
    assert all((a.get("href") or "#").startswith("#") for a in page.all("a"))
    assert not page.all("link")
    assert not re.search(r"@import|url\(", "".join(page.inside("style")))


def test_the_security_policy_allows_only_the_pages_own_style_and_script(page):
    policy = next(
        a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    runs = page.inside("script")[-1]
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'{sha256(runs)}'"
    assert rules["style-src"] == f"'{sha256(''.join(page.inside('style')))}'"
    assert sum("type" not in attributes for attributes in page.all("script")) == 1
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)


def test_the_script_never_inserts_markup(page):
    runs = page.inside("script")[-1]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", runs)


def test_dialogues_are_compressed_next_to_a_plain_index(page):
    index, block = page.inside("script")[:2]
    first = json.loads(index)["tasks"][0]
    assert first["id"] == "a"
    assert first["trials"] == [
        {
            "values": [1.0, 1.0],
            "success": True,
            "class": None,
            "told": [1, 2],
            "turns": 2,
            "words": 3,
            "ended": "answer",
            "failed": None,
        }
    ]
    detail = json.loads(gzip.decompress(b64decode(block)))[0]
    assert detail["reference"] == task("a").hidden.reference
    dialogue = detail["trials"][0]
    assert dialogue["turns"][0] == {
        "private": "I wonder.",
        "said": ATTACK,
        "human": ATTACK,
        "asked": [],
        "told": [],
        "leak": None,
        "metrics": None,
    }
    assert dialogue["answer"] == ATTACK
    assert dialogue["scores"]["official"]["checks"] == [["f()", "passed", ATTACK, ATTACK]]


def test_numbers_and_charts_are_in_the_page_without_javascript(page):
    text = " ".join(text for name, text in page.texts if name not in {"script", "style"})
    assert "Success rate" in text
    assert "100.0%" in text
    assert "scored tasks: the intervals are rough" in text
    assert "need JavaScript" in text
    assert ATTACK in text
    assert [each["aria-label"] for each in page.all("svg") if "aria-label" in each] == [
        "Success by turn",
        "Tests passed",
        "Turns",
    ]


def test_every_table_has_a_caption_and_scoped_header_cells(page):
    assert len(page.all("caption")) == len(page.all("table")) > 5
    assert all(attributes.get("scope") for attributes in page.all("th"))


def test_report_json_equals_the_returned_report(tmp_path):
    folder = run_folder(tmp_path / "run", [rollout("a")])
    report = write_report(folder, [task("a")], CONFIG)
    assert (
        msgspec.json.decode((folder.path / "report.json").read_bytes(), type=type(report)) == report
    )


def test_a_run_without_rollouts_has_a_report(tmp_path):
    folder = run_folder(tmp_path / "run", [])
    report = write_report(folder, [task("a")], CONFIG)
    assert report.domains["backend"].missing == 1
    assert "–" in (folder.path / "report.html").read_text()


def test_the_error_for_an_unwritable_report_names_its_file(tmp_path):
    folder = run_folder(tmp_path / "run", [rollout("a")])
    (folder.path / "report.html").mkdir()
    with pytest.raises(UserError, match=r"report\.html"):
        write_report(folder, [task("a")], CONFIG)


def test_a_very_long_text_is_cut_with_a_note(tmp_path):
    long = msgspec.structs.replace(rollout("a"), answer="x" * 1_000_000)
    folder = run_folder(tmp_path / "run", [long])
    write_report(folder, [task("a")], CONFIG)
    block = Page((folder.path / "report.html").read_text()).inside("script")[1]
    answer = json.loads(gzip.decompress(b64decode(block)))[0]["trials"][0]["answer"]
    assert len(answer) < bundle.LONGEST + 100
    assert "900,000 more characters" in answer
