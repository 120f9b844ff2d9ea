from __future__ import annotations

from io import BytesIO

import pytest
import pytest_asyncio
from PIL import Image

from colbench.domains.frontend.check import _flaws
from colbench.domains.frontend.clip import ClipEncoder
from colbench.domains.frontend.scorer import NO_WEIGHTS, FrontendScorer
from colbench.errors import ScorerError
from colbench.score import Score
from colbench.task import Hidden, Task

METRICS = {"cosine", "cosine_page", "block", "text", "position", "color", "layout", "ssim"}
STYLE = "body{margin:0;font-family:sans-serif}header{background:#1e40af;color:#fff;padding:20px}"


def html(title, color="#1e40af", rest="<p>We roast our beans by hand, every morning.</p>"):
    style = STYLE.replace("#1e40af", color)
    return (
        f"<!DOCTYPE html><html><head><style>{style}</style></head>"
        f"<body><header><h1>{title}</h1></header>{rest}</body></html>"
    )


def task(name, page):
    return Task(id=name, domain="frontend", request="A page.", hidden=Hidden(reference=page))


COFFEE = task("coffee", html("Acme Coffee"))
HOTEL = task("hotel", html("Hotel Sunrise", "#b91c1c", "<p>Rooms with a view of the sea.</p>" * 30))
TOO_BIG = task("too-big", html("x", rest=f"<p>{'x' * 3_000_000}</p>"))
NEAR = f"Here it is:\n```html\n{html('Acme Coffee', '#1d4ed8')}\n```"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clip(tiny_clip):
    async with ClipEncoder(tiny_clip, allow_unpinned=True, device="cpu") as encoder:
        yield encoder


@pytest.fixture
def scorer(renderer, clip):
    return FrontendScorer(renderer, clip, [COFFEE, TOO_BIG, HOTEL])


async def test_the_target_scores_one_in_every_metric(scorer):
    scores = await scorer.score(COFFEE, COFFEE.hidden.reference)
    assert scores["default"].metrics == dict.fromkeys(METRICS, 1.0)
    assert scores["official"].metrics == {"cosine": 1.0}
    assert [score.value for score in scores.values()] == [1.0, 1.0]
    assert [score.success for score in scores.values()] == [None, None]
    assert [score.note for score in scores.values()] == ["", ""]
    assert [score.outcome for score in scores.values()] == ["", ""]


async def test_a_more_similar_page_scores_higher_in_every_metric(scorer):
    near = (await scorer.score(COFFEE, NEAR))["default"]
    far = (await scorer.score(COFFEE, HOTEL.hidden.reference))["default"]
    for name in METRICS:
        assert far.metrics[name] < near.metrics[name] <= 1
    assert near.value == near.metrics["cosine"]
    assert near.metrics["text"] == 1
    assert near.metrics["color"] < 1


async def test_an_answer_without_a_page_scores_zero_and_officially_as_black(scorer, clip, renderer):
    scores = await scorer.score(COFFEE, "I would like to know more first.")
    default, official = scores["default"], scores["official"]
    assert default.value == 0
    assert default.metrics == dict.fromkeys(METRICS, 0.0)
    target = await renderer.render(COFFEE.hidden.reference, "official")
    black = BytesIO()
    Image.new("RGB", (224, 224)).save(black, "PNG")
    mine = (await clip.embed(black.getvalue(), "crop"))[0]
    theirs = (await clip.embed(target.picture, "crop"))[0]
    assert official.value == pytest.approx(float(mine @ theirs), abs=1e-4)
    assert default.outcome == official.outcome == "no page"
    assert official.note == "no page: scored as black"
    assert default.note.startswith("no page")
    assert str(default.floors["black"]["cosine"]) in default.note


async def test_a_page_that_cannot_be_rendered_scores_zero(scorer):
    score = (await scorer.score(COFFEE, TOO_BIG.hidden.reference))["default"]
    assert score.value == 0
    assert score.outcome == "too big"
    assert score.note.startswith("too big: ")


@pytest.mark.weekly
async def test_a_page_that_is_cut_off_counts_as_no_page_only_in_official_mode(scorer):
    cut = COFFEE.hidden.reference.replace("</html>", "")
    scores = await scorer.score(COFFEE, cut)
    assert scores["default"].value == 1
    assert scores["official"].note == "no page: scored as black"


@pytest.mark.weekly
async def test_floors_are_the_metrics_of_trivial_pages(scorer):
    score = (await scorer.score(COFFEE, NEAR))["default"]
    other = (await scorer.score(COFFEE, HOTEL.hidden.reference))["default"]
    assert set(score.floors) == {"black", "white", "other", "target"}
    assert score.floors["target"] == dict.fromkeys(METRICS, 1.0)
    assert score.floors["other"] == other.metrics
    for name in ("black", "white"):
        blank = score.floors[name]
        assert [blank[measure] for measure in ("block", "text", "position", "color")] == [0] * 4
    assert score.floors["black"]["ssim"] < score.floors["white"]["ssim"] < 1
    assert other.floors is score.floors


async def test_the_other_floor_of_the_last_task_uses_the_first_task(renderer):
    scorer = FrontendScorer(renderer, None, [COFFEE, TOO_BIG, HOTEL])
    floors = (await scorer.score(HOTEL, NEAR))["default"].floors
    expected = (await scorer.score(HOTEL, COFFEE.hidden.reference))["default"].metrics
    assert floors["other"] == expected


async def test_a_run_of_one_task_has_no_other_floor(renderer):
    scorer = FrontendScorer(renderer, None, [COFFEE])
    assert set((await scorer.score(COFFEE, NEAR))["default"].floors) == {"black", "white", "target"}


async def test_scoring_without_clip_weights_keeps_the_other_metrics(renderer):
    scorer = FrontendScorer(renderer, None, [COFFEE, HOTEL])
    scores = await scorer.score(COFFEE, COFFEE.hidden.reference)
    assert [score.value for score in scores.values()] == [None, None]
    assert scores["default"].metrics == dict.fromkeys(METRICS - {"cosine", "cosine_page"}, 1.0)
    assert scores["default"].scorer == "page-similarity/default/1"
    assert "colbench score" in scores["default"].note
    assert "colbench score" in scores["official"].note
    nothing = (await scorer.score(COFFEE, ""))["default"]
    assert nothing.value is None
    assert set(nothing.metrics.values()) == {0.0}


async def test_a_score_names_its_scorer_and_environment(scorer, renderer, clip):
    scores = await scorer.score(COFFEE, NEAR)
    for mode, score in scores.items():
        assert score.scorer == f"page-similarity/{mode}/1 clip {clip.identity}"
        assert score.environment == renderer.environment


def test_a_reference_below_1_is_not_blamed_on_missing_weights():
    scores = {
        mode: Score(scorer="s", value=None, success=None, metrics=metrics, note=NO_WEIGHTS)
        for mode, metrics in (("default", {"layout": 0.9}), ("official", {}))
    }
    (flaw,) = _flaws(scores, steady=True)
    assert flaw == "the reference scores 0.9 in default mode: {'layout': 0.9}"


async def test_a_turn_is_scored_by_its_page(scorer):
    turn = await scorer.score_turn(COFFEE, NEAR)
    whole = (await scorer.score(COFFEE, NEAR))["default"]
    assert turn is not None
    assert turn.metrics == whole.metrics
    assert turn.floors == {}
    assert await scorer.score_turn(COFFEE, "What colour do you like?") is None


@pytest.mark.parametrize("mode", ["default", "official"])
async def test_a_target_that_cannot_be_rendered_is_a_scorer_error(renderer, clip, mode):
    scorer = FrontendScorer(renderer, clip, [TOO_BIG], modes=(mode,))
    with pytest.raises(
        ScorerError, match=r"task too-big: .*too big.*leave out or correct the task"
    ):
        await scorer.score(TOO_BIG, NEAR)
