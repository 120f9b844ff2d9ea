"""The page of a run: written before and after each stage, complete, and with all text of dialogues escaped."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("matplotlib", reason="matplotlib is not installed (colbench[train])")

from sweet_rl_trainer.cli import main
from sweet_rl_trainer.pipeline.page import Run, write_page
from sweet_rl_trainer.pipeline.plan import plan
from sweet_rl_trainer.pipeline.read import paper_recipe, read
from sweet_rl_trainer.pipeline.stage import Stage
from sweet_rl_trainer.pipeline.training import view
from sweet_rl_trainer.pipeline.view import ShownPair, ShownSide, Table, View, examples, spread

pytestmark = pytest.mark.weekly
torch.set_num_threads(1)

EVIL = "<script>alert(1)</script>"


class Links(HTMLParser):
    """The targets of a page's links and pictures, and its ids."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.targets += [named[key] for key in ("href", "src") if key in named]
        self.ids.add(named.get("id"))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("page") / "out"


@pytest.fixture
def done(small_recipe, out, capfd):
    """Return the output folder of a run of all stages, made only once, and the messages of this call."""
    words = ["--set", 'evaluate=[{agent="guesser", limit=2}]']
    assert main(["run", str(small_recipe), "--out", str(out), *words]) == 0
    return out, capfd.readouterr().err


def test_a_run_has_a_page_with_all_its_stages(done):
    out, _ = done
    page = (out / "index.html").read_text()
    links = Links(page)
    for target in links.targets:
        assert target[1:] in links.ids if target[0] == "#" else (out / target).exists(), target
    assert len([each for each in links.targets if each.endswith("training.svg")]) == 2
    assert "9 of 9 stages done" in page
    assert 'http-equiv="refresh"' not in page
    assert "https://" not in page
    assert f"colbench eval --agent vllm:{next(out.glob('export-*'))}/model" in page
    assert "critic.train.learning_rate" in page
    (evaluated,) = out.glob("evaluate-*")
    assert f'<a href="{evaluated.name}/run/report.html">report</a>' in page
    assert "pair accuracy" in page
    assert page.count('class="side chosen"') == page.count('class="side rejected"') > 4


def test_the_page_shows_the_pairs_that_are_trained_on(done):
    out, _ = done
    (ranked,) = out.glob("rank-*")
    shown = examples(ranked, "score")
    lines = [json.loads(line) for line in (ranked / "scored.jsonl").read_text().splitlines()]
    known = {
        (f"{line['trajectory']}, turn {line['turn'] + 1}, candidate {n}", text): score
        for line in lines
        for n, (text, score) in enumerate(zip(line["replies"], line["scores"], strict=True), 1)
    }
    assert shown.pairs
    for pair in shown.pairs:
        for side in (pair.chosen, pair.rejected):
            assert known[side.name, side.text] == pytest.approx(side.score)
        assert pair.chosen.score > pair.rejected.score
        assert pair.context
    (data,) = out.glob("critic-data-*")
    for pair in examples(data).pairs:
        assert pair.chosen.score > pair.rejected.score
        assert not pair.chosen.text


def test_each_training_stage_has_a_summary_and_a_plot(done):
    out, said = done
    for folder in (each.parent.parent for each in out.glob("*/run/log.jsonl")):
        assert (folder / "training.png").is_file()
        shown = view(folder)
        rows = {row[0] for row in shown.tables[0].rows}
        assert {"loss", "held-out loss", "accuracy", "held-out accuracy"} <= rows
        assert {"held-out kl", "held-out entropy", "length chosen"} <= rows
        assert shown.picture == "training"
        report = json.loads((folder / "done.json").read_text())["said"]
        assert report["alarms"] == json.loads((folder / "summary.json").read_text())["alarms"]
    assert re.search(r"held-out entropy +\d", said)


def test_an_evaluation_reports_turns_and_unanswered_dialogues(done):
    out, said = done
    (folder,) = out.glob("evaluate-*")
    report = json.loads((folder / "done.json").read_text())["said"]
    assert (report["dialogues"], report["turns"], report["unanswered"]) == (2, 1.0, 0.0)
    assert "unanswered 0" in said


def test_the_page_refreshes_only_while_a_stage_runs(small_recipe, tmp_path):
    recipe = read(str(small_recipe))
    stages = plan(recipe, "critic")
    out = tmp_path / "out"
    paper = paper_recipe(recipe.domain)
    run = Run(recipe=recipe, paper=paper, goal="critic", stages=stages, out=out)
    write_page(run, stages[0])
    page = (out / "index.html").read_text()
    assert 'http-equiv="refresh"' in page
    assert page.index(">running<") < page.index(">to do<")
    assert "0 of 2 stages done" in page

    stages[0].folder(out).mkdir()
    write_page(run)
    page = (out / "index.html").read_text()
    assert 'http-equiv="refresh"' not in page
    assert page.index(">interrupted<") < page.index(">to do<")
    assert ">running<" not in page


def test_text_of_a_model_is_escaped(small_recipe, tmp_path):
    side = ShownSide(name=EVIL, score=1.0, tokens=1, text=EVIL)
    shown = View(
        tables=(Table(head=(EVIL,), rows=((EVIL,),)),),
        pairs=(ShownPair(chosen=side, rejected=side, context=EVIL),),
    )
    said = {EVIL: EVIL, "alarms": [EVIL], "left out": {EVIL: 1}}
    stage = Stage(name="rank", act=lambda _: said, settings=1, view=lambda _: shown)
    stage.run(tmp_path)
    recipe = read(str(small_recipe))
    paper = paper_recipe(recipe.domain)
    write_page(Run(recipe=recipe, paper=paper, goal="rank", stages=[stage], out=tmp_path))
    page = Path(tmp_path / "index.html").read_text()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 8


def test_an_alarm_of_two_stages_is_listed_once(small_recipe, tmp_path):
    stages = [
        Stage(name="diagnose", act=lambda _: {"alarms": ["too long"]}, settings=number)
        for number in range(2)
    ]
    for stage in stages:
        stage.run(tmp_path)
    recipe = read(str(small_recipe))
    paper = paper_recipe(recipe.domain)
    write_page(Run(recipe=recipe, paper=paper, goal="rank", stages=stages, out=tmp_path))
    page = Path(tmp_path / "index.html").read_text()
    listed = page[page.index('aria-label="Alarms"') : page.index("</section>")]
    assert "1 alarm<" in listed
    assert listed.count("too long") == 1


def test_shown_examples_are_spread_evenly():
    assert spread(range(100), 4) == [0, 25, 50, 75]
    assert spread([1, 2], 4) == [1, 2]
    assert examples(Path("nowhere")) == View()
