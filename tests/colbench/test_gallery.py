"""The gallery, with artificial renders; `tests/e2e` tests it with a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from colbench.config import RunConfig
from colbench.domains.frontend.gallery import pages as gallery
from colbench.domains.frontend.gallery import pictures
from colbench.errors import UserError
from colbench.pages.render import Render
from colbench.pages.store import RenderStore, render_key
from colbench.report.write import write_report
from colbench.rollout import Failure, Rollout, Turn, encode_rollout
from colbench.run_folder import RunFolder, RunRecord, TaskSource
from colbench.score import Score
from colbench.shards import in_shard
from colbench.task import Hidden, Task

ATTACK = "</article><img src=x onerror=alert(1)><script>alert(2)</script>&amp;"
BROWSER = "Browser 1"
CONFIG = RunConfig(agent=f"agent{ATTACK}", max_turns=3)
TARGET = "<html><h1>target</h1></html>"


def page(name: str) -> str:
    return f"<html><body><h1>{name}</h1>{ATTACK}</body></html>"


def png(color: str, width: int = 1280, height: int = 720, ink: str = "", x: int = 200) -> bytes:
    """Return a picture of one color, with a bar at `x` if the color `ink` is given."""
    image = Image.new("RGB", (width, height), color)
    if ink:
        ImageDraw.Draw(image).rectangle((x, 100, x + 7, 400), fill=ink)
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def task(name: str = "a") -> Task:
    return Task(id=name, domain="frontend", request=f"A {ATTACK}", hidden=Hidden(reference=TARGET))


def score(cosine: float) -> Score:
    metrics = {"cosine": cosine, "layout": cosine / 2}
    floors = {"black": {"cosine": 0.123, "layout": 0.0}, "target": {"cosine": 1.0, "layout": 1.0}}
    return Score(scorer="pages", value=cosine, success=None, metrics=metrics, floors=floors)


def rollout(name: str = "a", **rest: object) -> Rollout:
    fields: dict[str, object] = {
        "turns": (
            Turn(raw="?", said=f"What colour? {ATTACK}", human=f"Blue. {ATTACK}"),
            Turn(raw="!", said=page("one"), human="Larger.", score=score(0.345)),
            Turn(raw="!", said="", score=score(0.678)),
        ),
        "answer": page("two"),
        "ended_by": "answer",
        "scores": {"default": score(0.678)},
    }
    return Rollout(
        key=name,
        task_id=name,
        task_hash=task(name).hash,
        domain="frontend",
        trial=0,
        seed=0,
        request="?",
        **(fields | rest),
    )


def run_folder(path: Path, *rollouts: Rollout) -> RunFolder:
    folder = RunFolder(path)
    path.mkdir()
    folder.save(
        RunRecord(
            started="2025-01-01T00:00:00+00:00",
            config=CONFIG,
            pins={},
            digest="d",
            environments={"frontend": BROWSER},
            tasks=TaskSource(source="pages.jsonl", count=1, hash="h"),
        )
    )
    folder.write("rollouts.jsonl", b"".join(map(encode_rollout, rollouts)))
    return folder


@pytest.fixture
def store(tmp_path, monkeypatch) -> RenderStore:
    """Return the user's render store, with renders of the target and of pages one and two."""
    monkeypatch.setenv("COLBENCH_CACHE", str(tmp_path / "cache"))
    store = RenderStore()
    for source, picture in (
        (TARGET, png("white", height=1000)),
        (page("one"), png("red")),
        (page("two"), png("blue", height=400)),
    ):
        width, height = pictures.size_of(picture)
        key = render_key(source, "default", BROWSER)
        store.put(
            Render(
                key=key,
                outcome="rendered",
                mode="default",
                width=width,
                height=height,
                picture=picture,
            )
        )
    return store


class Page(HTMLParser):
    """The elements and text of a page. Parsing fails if a tag is closed out of order."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.stack: list[str] = []
        self.feed(content)
        assert not self.stack

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "br"}:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if self.stack[-1:] != ["style"]:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def written(folder: RunFolder, tasks: list[Task], number: int = 1) -> Page:
    write_report(folder, tasks, CONFIG)
    return Page((folder.path / gallery.page_name(number)).read_text())


def test_the_gallery_shows_target_turns_final_page_and_difference(tmp_path, store):
    folder = run_folder(tmp_path / "run", rollout())
    shown = written(folder, [task()])
    pictures_ = {each["alt"]: each for each in shown.all("img")}
    assert list(pictures_) == [
        "Target, a",
        "Final page, a",
        "Difference, a",
        "Turn 2, a",
        "Turn 3, a",
    ]
    assert pictures_["Turn 3, a"]["src"] == pictures_["Final page, a"]["src"]
    for each in pictures_.values():
        with Image.open(folder.path / each["src"]) as image:
            assert image.format == "WEBP"
            assert image.size == (int(each["width"]), int(each["height"]))
            assert image.width == 640
            assert each["loading"] == "lazy"
    assert (pictures_["Target, a"]["height"], pictures_["Difference, a"]["height"]) == (
        "500",
        "500",
    )
    assert pictures_["Final page, a"]["height"] == "200"


def test_the_gallery_shows_scores_messages_and_floors(tmp_path, store):
    shown = written(run_folder(tmp_path / "run", rollout()), [task()])
    assert "cosine 34.5%, layout 17.2%" in shown.text
    assert "cosine 67.8%, layout 33.9%" in shown.text
    assert "12.3%" in shown.text
    assert f"What colour? {ATTACK}" in shown.text
    assert f"Blue. {ATTACK}" in shown.text


def test_agents_pages_are_never_included_as_markup(tmp_path, store):
    shown = written(run_folder(tmp_path / "run", rollout()), [task()])
    assert not shown.all("script")
    assert len(shown.all("h1")) == 1
    for tag, attributes in shown.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert tag not in {"iframe", "object", "embed", "base", "form", "link"}
    policy = next(a["content"] for a in shown.all("meta") if "http-equiv" in a)
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_the_gallery_links_and_loads_only_files_of_the_run_folder(tmp_path, store):
    folder = run_folder(tmp_path / "run", rollout())
    shown = written(folder, [task()])
    ids = {attributes["id"] for _, attributes in shown.elements if "id" in attributes}
    for address in [a["src"] for a in shown.all("img")] + [a["href"] for a in shown.all("a")]:
        file, _, place = address.partition("#")
        assert not file or (folder.path / file).is_file()
        assert file or place in ids


def test_the_report_links_to_the_gallery_and_to_each_task_in_it(tmp_path, store):
    folder = run_folder(tmp_path / "run", rollout())
    shown = written(folder, [task()])
    report = (folder.path / "report.html").read_text()
    assert 'href="gallery.html"' in report
    assert '"page": "gallery.html#task-1"' in report
    assert [each["id"] for each in shown.all("article")] == ["task-1"]


def test_missing_renders_are_reported_with_the_command_that_creates_them(tmp_path, monkeypatch):
    monkeypatch.setenv("COLBENCH_CACHE", str(tmp_path / "empty"))
    folder = run_folder(tmp_path / "run", rollout())
    shown = written(folder, [task()])
    assert not shown.all("img")
    assert f"colbench score {folder.path}" in shown.text


def test_existing_pictures_are_kept_without_the_render_store(tmp_path, store, monkeypatch):
    folder = run_folder(tmp_path / "run", rollout())
    before = written(folder, [task()])
    times = {path: path.stat().st_mtime_ns for path in (folder.path / "gallery").iterdir()}
    monkeypatch.setenv("COLBENCH_CACHE", str(tmp_path / "empty"))
    after = written(folder, [task()])
    assert [a["src"] for a in after.all("img")] == [b["src"] for b in before.all("img")]
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_the_gallery_says_why_a_page_was_not_rendered(tmp_path, store):
    key = render_key(page("big"), "default", BROWSER)
    store.put(Render(key=key, outcome="too big", mode="default", note="3 MB"))
    answer = rollout(
        answer=page("big"), scores={"default": Score(scorer="s", value=0.0, success=None)}
    )
    shown = written(run_folder(tmp_path / "run", answer), [task()])
    assert "Not rendered: 3 MB." in shown.text


def test_a_final_page_equal_to_the_target_is_reported_as_the_same(tmp_path, store):
    shown = written(run_folder(tmp_path / "run", rollout(answer=TARGET)), [task()])
    assert "The pages are the same." in shown.text


def test_failed_and_missing_dialogues_are_labeled(tmp_path, store):
    failure = Failure(boundary="simulator", reason=f"down {ATTACK}")
    lost = rollout(answer=None, ended_by="failure", failure=failure, scores={})
    folder = run_folder(tmp_path / "run", lost)
    shown = written(folder, [task(), task("b")])
    assert f"Failed: simulator: down {ATTACK}" in shown.text
    assert "has not finished yet" in shown.text
    assert "Target, b" not in [each["alt"] for each in shown.all("img")]


def test_trials_in_a_shard_keep_their_numbers(tmp_path, store):
    config = RunConfig(trials=6, shard=(1, 2))
    planned = [n for n in range(6) if in_shard(config.shard, "a", task().hash, n)]
    album = gallery.Album(tmp_path, store, "")
    pages = gallery.Gallery(album, config, [task()], [[]], metrics=(), floors={})
    assert planned != list(range(len(planned)))
    found = re.findall(r"<h3>Trial (\d+)</h3>", pages["gallery.html"])
    assert found == [str(n + 1) for n in planned]


def test_many_tasks_are_spread_over_several_gallery_pages(tmp_path, store):
    tasks = [task(f"t{n}") for n in range(gallery.TASKS + 1)]
    folder = run_folder(tmp_path / "run", rollout("t0"), rollout(f"t{gallery.TASKS}"))
    second = written(folder, tasks, number=2)
    assert [each["id"] for each in second.all("article")] == [f"task-{gallery.TASKS + 1}"]
    assert [each["href"] for each in second.all("a")][2:4] == ["gallery.html", "gallery-2.html"]
    index = (folder.path / "report.html").read_text()
    assert f'"page": "gallery-2.html#task-{gallery.TASKS + 1}"' in index


def test_a_gallery_page_reads_only_the_dialogues_that_it_shows(tmp_path, store):
    class Shown(list):
        read = 0

        def __iter__(self):
            self.read += 1
            return super().__iter__()

    trials = gallery.DIALOGUES // 2
    config = RunConfig(trials=trials)
    rows = [Shown([rollout(f"t{n}")]) for n in range(5)]
    album = gallery.Album(tmp_path, store, "")
    tasks = [task(f"t{n}") for n in range(5)]
    pages = gallery.Gallery(album, config, tasks, rows, metrics=(), floors={})
    assert list(pages) == ["gallery.html", "gallery-2.html", "gallery-3.html"]
    assert 'id="task-3"' in pages["gallery-2.html"]
    assert [row.read for row in rows] == [0, 0, 1, 1, 0]
    assert pages.address(4) == "gallery-3.html#task-5"


def test_a_gallery_page_links_to_nearby_pages_and_to_both_ends(tmp_path, store):
    count = (4 * gallery.NEAR + 1) * gallery.TASKS
    tasks = [task(f"t{n}") for n in range(count)]
    album = gallery.Album(tmp_path, store, "")
    pages = gallery.Gallery(album, RunConfig(), tasks, [[]] * count, metrics=(), floors={})
    middle = 2 * gallery.NEAR + 1
    page = pages[gallery.page_name(middle)]
    for number, linked in ((1, True), (middle - gallery.NEAR, True), (2, False), (41, True)):
        assert (f'href="{gallery.page_name(number)}"' in page) is linked


def test_a_run_without_pages_has_no_gallery(tmp_path, store):
    code = Task(id="a", domain="backend", request="?", hidden=Hidden(reference="x", tests=("f()",)))
    folder = run_folder(tmp_path / "run")
    write_report(folder, [code], CONFIG)
    assert not (folder.path / "gallery.html").exists()
    assert "gallery.html" not in (folder.path / "report.html").read_text()


def test_a_gallery_that_cannot_be_written_is_named(tmp_path, store):
    folder = run_folder(tmp_path / "run", rollout())
    (folder.path / "gallery").write_text("in the way")
    with pytest.raises(UserError, match=re.escape(str(folder.path / "gallery"))):
        write_report(folder, [task()], CONFIG)


def colors(target: bytes, final: bytes, *points: tuple[int, int]) -> list[tuple[int, ...]]:
    """Return the colors of the difference picture at points of the pages."""
    with Image.open(BytesIO(pictures.difference(target, final))) as image:
        return [image.convert("RGB").getpixel((x // 2, y // 2)) for x, y in points]


def near(color: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    return max(abs(a - b) for a, b in zip(color, expected, strict=True)) < 40


def test_the_difference_colors_missing_and_extra_detail_on_light_and_dark_pages():
    for ground, ink in (("white", "black"), ("#102060", "white")):
        empty, inked = png(ground), png(ground, ink=ink, x=200)
        ((missing),) = colors(inked, empty, (204, 250))
        ((surplus),) = colors(empty, inked, (204, 250))
        assert near(missing, pictures.TARGET)
        assert near(surplus, pictures.FINAL)


def test_an_area_of_another_color_has_its_own_difference_color():
    (area,) = colors(png("#2244cc"), png("#aa3311"), (600, 350))
    assert near(area, pictures.BOTH)


def test_the_difference_is_pale_gray_where_pages_agree():
    light, dark = colors(
        png("white", ink="black"), png("white", ink="black"), (600, 350), (204, 250)
    )
    assert near(light, (255, 255, 255))
    assert near(dark, (153, 153, 153))


def test_a_shorter_page_counts_as_white_below_its_end():
    inked = png("white", height=1000)
    (below,) = colors(inked, png("white", height=300), (600, 900))
    assert near(below, (255, 255, 255))
    (below,) = colors(png("#2244cc", height=1000), png("white", height=300), (600, 900))
    assert near(below, pictures.BOTH)


def test_a_thumbnail_keeps_the_proportions_of_the_page():
    assert pictures.size_of(pictures.thumbnail(png("white", 1280, 3001))) == (640, 1500)
    assert pictures.size_of(pictures.thumbnail(png("white", 1354, 8192))) == (640, 3872)
