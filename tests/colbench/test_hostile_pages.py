"""The hostile pages: each succeeds on a naive renderer, and none on the renderer of ColBench."""

from __future__ import annotations

import asyncio
import re
import socket
from collections import Counter
from importlib import util
from io import BytesIO
from pathlib import Path
from urllib.request import urlopen

import pytest
from PIL import Image

from colbench.cli import main
from colbench.cli.attack import print_report
from colbench.pages.render import Render
from colbench.sandbox.attacks import Report
from colbench.sandbox.browser import Renderer
from colbench.sandbox.browser.attacks import (
    Canary,
    PageFinding,
    attack_renderer,
    page_attacks,
    page_controls,
    shows_canary,
)
from colbench.sandbox.browser.limits import Limits

LANES = 2
VARYING_SAMPLE = 8
"""One in this many varying pages is rendered here with the others; `test_varying_pages.py` renders all of them."""
SHORT, LONG = Limits(wall_seconds=5.0), Limits(wall_seconds=60.0)
"""Many attacks use up their time, so it is short. A good page has enough time even on a busy machine."""


def naive_renderer(browser):
    """Return a naive renderer; its module is next to this one, which is not in a package."""
    spec = util.spec_from_file_location(
        "naive_renderer", Path(__file__).with_name("naive_renderer.py")
    )
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.NaiveRenderer(browser)


async def reached_by_all(browser, pages):
    """Return what each page reaches, by class and name."""
    found, waiting = {}, iter(pages)

    async def lane():
        async with naive_renderer(browser) as naive:
            for page in waiting:
                found[page.kind, page.name] = await naive.reached(page)

    await asyncio.gather(*(lane() for _ in range(LANES)))
    return found


@pytest.fixture(scope="module")
def reached_naively(browser):
    """Return what each attack, and the honest page, reaches on the naive renderer."""
    return asyncio.run(reached_by_all(browser, [page_controls()[0], *page_attacks()]))


@pytest.mark.weekly
@pytest.mark.parametrize("attack", page_attacks(), ids=lambda page: f"{page.kind}: {page.name}")
def test_every_attack_succeeds_on_the_naive_renderer(reached_naively, attack):
    assert attack.aim in reached_naively[attack.kind, attack.name]


@pytest.mark.weekly
def test_a_good_page_reaches_nothing(reached_naively):
    assert reached_naively["controls", "good"] == set()


def bad_pages():
    varying = [page for page in page_attacks() if page.kind == "varying"]
    others = [page for page in page_attacks() if page.kind != "varying"]
    return (*others, *varying[::VARYING_SAMPLE])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pages", "limits"), [(bad_pages(), SHORT), (page_controls(), LONG)], ids=["bad", "good"]
)
async def test_pages_reach_only_allowed_resources_and_good_pages_are_rendered(
    pages, limits, browser, tmp_path
):
    renderer = Renderer(str(browser), cache=tmp_path, limits=limits)
    report = await attack_renderer(renderer, chosen=pages)
    assert len(report.findings) == len(pages) + 1
    assert [found for found in report.findings if found.faults] == []
    assert {"rendered", "too big", "timeout", "crash", "varies"} >= {
        found.outcome for found in report.findings if found.kind != "afterwards"
    }


class Careless:
    """A renderer that fetches, shows files, fails, and varies its pictures: everything that a report must show."""

    environment = "careless"

    def __init__(self, picture):
        self.picture = picture
        self.blots = False
        self.rendered = 0

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        pass

    async def render(self, page, mode="default"):
        self.rendered += 1
        if "picture.png" in page and "file:" not in page:
            host, port = re.search(r"http://([\d.]+):(\d+)", page).groups()
            _reader, writer = await asyncio.open_connection(host, int(port))
            writer.close()
        if "<div><div>" in page:
            raise ValueError("too deep")
        shown = Path(re.search(r"file://(\S+picture.png)", page)[1]) if "file:" in page else None
        return Render(
            key="k",
            outcome="rendered",
            mode=mode,
            height=self.rendered,
            picture=shown.read_bytes() if shown else self._picture(),
        )

    def _picture(self):
        if not self.blots:
            return self.picture + bytes([self.rendered])
        return blotted() if self.rendered > 2 else self.picture


async def test_a_report_lists_what_each_attack_reached():
    names = {"network": "picture", "files": "picture", "time": "deep elements", "varying": "clock"}
    chosen = [page for page in page_attacks() if names.get(page.kind) == page.name]
    report = await attack_renderer(Careless(white()), chosen=chosen)
    faults = {found.kind: found.faults for found in report.successes}
    next_fails = "the next page looks different (the same pixels)"
    assert faults == {
        "network": (next_fails, "a connection"),
        "files": ("shows a file", next_fails),
        "time": ("the renderer failed: ValueError: too deep", next_fails),
        "varying": ("looked different on the second render", next_fails),
    }


async def test_a_report_names_damage_to_the_next_page():
    renderer = Careless(white())
    renderer.blots = True
    chosen = [page for page in page_attacks() if page.name == "loop on leaving"]
    (found,) = (await attack_renderer(renderer, chosen=chosen)).successes
    assert found.faults == ("the next page looks different (within (2, 3, 5, 7))",)


def blotted():
    with Image.open(BytesIO(white())) as picture:
        picture.paste("black", (2, 3, 5, 7))
        stream = BytesIO()
        picture.save(stream, "PNG")
    return stream.getvalue()


def white():
    stream = BytesIO()
    Image.new("RGB", (8, 8), "white").save(stream, "PNG")
    return stream.getvalue()


def test_the_canary_sees_connections_and_datagrams_and_knows_its_files():
    with Canary() as canary:
        assert canary.traces() == []
        with urlopen(f"http://{canary.words['CANARY']}/picture.png") as answer:
            assert shows_canary(answer.read())
        assert canary.traces() == ["a connection"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"x", ("127.0.0.1", int(canary.words["CANARY_PORT"])))
        assert canary.traces() == ["a datagram"]
        assert not shows_canary(white())


def test_repeats_and_placeholders_are_filled_in():
    with Canary() as canary:
        for attack in (*page_attacks(), *page_controls()):
            page = attack.page(canary, "7")
            assert not re.search("⟦|⟧|CANARY|VISIT|BOMB_|_BOMB|MOVING_|SURROGATE", page), (
                attack.name
            )
            assert "<!-- 7 -->" in page


def test_the_table_shows_every_outcome(capsys):
    findings = (
        PageFinding(
            kind="files",
            name="frame",
            control=False,
            faults=("shows a file",),
            outcome="rendered",
            seconds=1,
        ),
        PageFinding(
            kind="time", name="blur", control=False, faults=(), outcome="timeout", seconds=5.5
        ),
        PageFinding(
            kind="controls", name="good", control=True, faults=(), outcome="rendered", seconds=0.2
        ),
    )
    print_report(Report(environment="Chromium 1", findings=findings), "honest pages were rendered")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "class attack outcome",
        "files frame shows a file",
        "time blur timeout, 5.5 s",
        "controls good rendered, 0.2 s",
        "Chromium 1",
        "1 of 2 attacks succeeded (files 1, time 1)",
        "1 of 1 honest pages were rendered",
    ]


def test_a_missing_browser_is_a_user_error(capsys):
    assert main(["doctor", "--attack", "pages", "--browser", "/nowhere/chromium"]) == 2
    assert (
        "--browser names /nowhere/chromium, which is not a program on this machine"
        in capsys.readouterr().err
    )


def test_page_names_are_unique_within_their_class():
    names = [(page.kind, page.name) for page in (*page_attacks(), *page_controls())]
    assert len(names) == len(set(names))


def test_the_documentation_states_the_number_of_attacks_in_every_class():
    text = Path(__file__).parents[2].joinpath("docs", "frontend.md").read_text("utf-8")
    documented = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE))
    counted = Counter(attack.kind for attack in page_attacks())
    assert documented == {kind: str(count) for kind, count in counted.items()}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--attack", "pages", "--tier", "T1"], "--tier: requires --attack code"),
        (["--attack", "--browser", "chromium"], "--browser: requires --attack pages"),
        (["--tier", "T1"], "--tier: requires --attack code"),
        (["--allow-unsafe-sandbox"], "--allow-unsafe-sandbox: requires --attack code"),
        (["--browser", "chromium"], "--browser: requires --attack pages"),
    ],
)
def test_flags_require_the_attack_that_they_configure(capsys, argv, said):
    assert main(["doctor", *argv]) == 2
    assert said in capsys.readouterr().err
