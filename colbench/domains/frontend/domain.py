"""The domain of frontend design."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from colbench.checks import Bar, Diagnosis, Examination, TaskCheck
from colbench.config import RunConfig
from colbench.domain import Defaults, Domain, Metric, Resources
from colbench.domains.frontend.items import html_items
from colbench.domains.frontend.resources import FrontendResources, make_clip
from colbench.interfaces import ChatModel, HumanSimulator, Scorer
from colbench.items import Items
from colbench.leaks import hidden_items, used_items
from colbench.models.human import Voice
from colbench.pages.extract import extract_page
from colbench.pages.store import RenderStore
from colbench.presentation import AnswerPictures, DialoguePictures, Draft, ReportPages
from colbench.rollout import Rollout
from colbench.task import Fact, Task

LONGEST_PAGE = 2_000_000
"""Maximum length of a page in characters; a longer page is not rendered and scores 0 in the mode `default`."""
COPIED = 0.9
"""Minimum share of the design's hidden token sequences that a copy contains; the request lacks these sequences."""
LEAST_RUNS = 20
"""Minimum number of hidden token sequences that a design needs for copies to be detected; fewer can agree by chance."""
FENCE = re.compile(r"^[ \t]*[`~]{3}.*$", re.M)
NO_CLIP = "needs CLIP's weights; `colbench score RUN` adds it without repeating the dialogues"
OWN_PAGE = (
    "The picture in the person's last message shows your own newest page, as they see it; "
    "it is not the page that they have in mind."
)
"""Text that is added to the prompt of an agent that is shown pictures."""
TAILWIND = "https://cdn.jsdelivr.net/npm/tailwindcss@2.2.19/dist/tailwind.min.css"
EMPTY_PAGE = f"""<!DOCTYPE html>
<html>
<head><link href="{TAILWIND}" rel="stylesheet"></head>
<body>

</body>
</html>
"""


class FrontendDomain(Domain):
    """The domain of HTML pages, scored by the cosine of the CLIP embeddings of a page and of the hidden design."""

    name = "frontend"
    title = "Frontend design"
    noun = "page"
    language = "html"
    modes = ("default", "official")
    metrics = (
        Metric(
            name="cosine",
            label="cosine",
            role="primary",
            bounds=(-1.0, 1.0),
            digits=4,
            lacking=NO_CLIP,
            description="CLIP similarity of the two pictures, as in the paper",
        ),
        Metric(
            name="cosine_page",
            label="cosine, whole page",
            bounds=(-1.0, 1.0),
            lacking=NO_CLIP,
            description="CLIP similarity of pictures of the whole page",
        ),
        Metric(
            name="layout",
            label="layout",
            role="fallback",
            description="mean of blocks, text, position and color",
        ),
        Metric(name="block", label="blocks", description="blocks that both pages have, by size"),
        Metric(name="text", label="text", description="words of matching blocks that agree"),
        Metric(
            name="position",
            label="position",
            description="closeness of the positions of matching blocks",
        ),
        Metric(
            name="color", label="color", description="similarity of the colors of matching blocks"
        ),
        Metric(
            name="ssim",
            label="SSIM",
            bounds=(-1.0, 1.0),
            description="structural similarity of the two pictures",
        ),
    )
    defaults = Defaults(
        tasks="bundled:frontend", agent="designer", training="bundled:frontend/train"
    )
    floors = {  # noqa: RUF012
        "other": "another target",
        "black": "black page",
        "white": "white page",
        "target": "target itself",
    }
    pictured = True
    audited = False
    leaderboard_sets = {  # noqa: RUF012
        "bundled:frontend/test": 500,
        "official:frontend/test": 500,
        "websight:test": 500,
    }
    own_sources = frozenset({"bundled:frontend", "bundled:frontend/test"})
    human_limits = (512, 1000)
    remedy = (
        "Pass CLIP's weights with --clip-weights (and --allow-other-clip if they are not the paper's); "
        "`pip install 'colbench[frontend]'` installs the packages that CLIP needs"
    )
    unjudged = "no page could be compared with its target"
    example_request = (
        "I want a web page for a shop that is called {name}: a dark header with its name, "
        "and a list of prices."
    )
    example_reply = "In mine the header is darker; the rest is the same."
    play_rules = (
        "You are the agent. The human has a page in mind and tells you how the page that you show differs from it. "
        "Send HTML, typed or with /edit. At the end, give the final page with /answer."
    )
    privileged_note = (
        "For your eyes only. The person in the conversation below has exactly this web page in mind, and "
        "the assistant, who cannot see it, is to find out what it looks like and build one that looks the same:\n\n"
        "```html\n{reference}\n```"
    )

    def resources(self, config: RunConfig, tasks: Sequence[Task]) -> FrontendResources:
        """Return the browser and CLIP's encoder."""
        return FrontendResources(config, tasks)

    def scorer(self, resources: Resources) -> Scorer:
        """Return the scorer of similarity to the hidden design."""
        from colbench.domains.frontend.scorer import FrontendScorer

        assert isinstance(resources, FrontendResources)  # noqa: S101
        return FrontendScorer(resources.renderer, resources.clip, resources.tasks)

    def keyless_human(self, resources: Resources | None) -> HumanSimulator:
        """Return the human who compares the agent's page with the target and describes the differences."""
        from colbench.domains.frontend.human import PageHuman

        human = PageHuman()
        if resources and resources.renderer:
            human.use_renderer(resources.renderer)
        return human

    def model_human(self, chat: ChatModel, voice: Voice) -> HumanSimulator:
        """Return the human played by a vision model, which compares pictures of pages."""
        from colbench.domains.frontend.vision import VisionHuman

        return VisionHuman(chat, voice)

    def scorer_flags(self, scorer: str) -> tuple[str, ...]:
        """Return the flags that `colbench verify` needs for CLIP weights other than the paper's."""
        from colbench.domains.frontend.weights import MODEL, SHA256

        _, found, clip = scorer.partition(" clip ")
        same = not found or clip == f"{MODEL}@{SHA256[:8]}"
        return () if same else ("--clip-weights", "YOUR_WEIGHTS", "--allow-other-clip")

    def decisions(self, task: Task) -> tuple[Fact, ...]:  # noqa: ARG002
        """Return no decisions: the differences that the human describes are not answers to questions."""
        return ()

    def items(self, source: str) -> Items:
        """Return the class names, the visible texts and the runs of tokens of a page."""
        return html_items(source)

    def source(self, answer: str) -> str:
        """Return the page in an answer; "" if the answer contains no page or the page is too long to be rendered."""
        page = extract_page(answer) or ""
        return page if len(page) <= LONGEST_PAGE else ""

    def copied(self, task: Task, source: str) -> bool:
        """Return True if a page contains nearly all of the design's token sequences that are not in the request.

        Return False if the design has fewer than `LEAST_RUNS` such sequences.
        """
        whole = hidden_items(task).ngrams
        used = used_items(task, source).ngrams
        return len(whole) >= LEAST_RUNS and len(used) >= COPIED * len(whole)

    def committed(self, text: str, said: Sequence[str]) -> str:
        """Return `text` if it contains a page, else the last message with a page; without any page, return `text`."""
        shown = (each for each in (text, *reversed(said)) if extract_page(each))
        return next(shown, text)

    def readable(self, said: str) -> str:
        """Return a message without its page; the human sees the page only as a picture."""
        page = extract_page(said)
        return FENCE.sub("", said.replace(page, "")) if page else said

    def draft(self, dialogue: Sequence[str]) -> Draft:
        """Return the agent's most recent page, or an empty page, as a draft."""
        page = next(filter(None, map(extract_page, reversed(dialogue[1::2]))), None)
        return Draft(text=page or EMPTY_PAGE, suffix=".html", required=page is None)

    def agent_prompt(self, *, single_turn: bool, pictures: bool) -> str:
        """Return the built-in system prompt; for an agent that is shown `pictures`, add a sentence about them."""
        prompt = super().agent_prompt(single_turn=single_turn, pictures=pictures)
        return f"{prompt}\n\n{OWN_PAGE}" if pictures else prompt

    def report_pages(
        self,
        folder: Path,
        config: RunConfig,
        environment: str,
        tasks: Sequence[Task],
        rollouts: Sequence[Sequence[Rollout]],
    ) -> ReportPages:
        """Return the gallery, with pictures from the user's store of renders."""
        from colbench.domains.frontend.gallery.album import Album
        from colbench.domains.frontend.gallery.pages import Gallery

        album = Album(folder, RenderStore(), environment)
        gallery = Gallery(album, config, tasks, rollouts, metrics=self.metrics, floors=self.floors)
        return ReportPages(
            name="gallery",
            description="every target, every page that was shown, and how they differ.",
            files=gallery,
            addresses={task.id: gallery.address(place) for place, task in enumerate(tasks)},
        )

    def answer_pictures(
        self, folder: Path, renders: RenderStore, environment: str
    ) -> AnswerPictures:
        """Return the source of an answer's pictures: the target, the render and their difference."""
        from colbench.domains.frontend.gallery.comparison import PageComparison

        return PageComparison(folder, renders, environment)

    def dialogue_pictures(
        self, folder: Path, config: RunConfig, environment: str
    ) -> DialoguePictures:
        """Return the source of pictures for every turn: the target, the page and their difference.

        Pages without a stored render are rendered.
        """
        from colbench.domains.frontend.gallery.rendered import RenderedPages

        return RenderedPages(folder, config, environment)

    async def check(
        self, tasks: Sequence[Task], config: RunConfig, done: Callable[[], None]
    ) -> list[TaskCheck]:
        """Check that two renders of every design are equal, and that the design scores 1 and an empty answer 0."""
        from colbench.domains.frontend.check import check_pages

        return await check_pages(tasks, config, make_clip(config), done)

    async def examine(
        self, tasks: Sequence[Task], config: RunConfig, sample: int, bar: Bar
    ) -> Examination:
        """Render each of the first `sample` pages twice, without computing the cosine, and return the flaws found."""
        from colbench.domains.frontend.check import examine_pages

        return await examine_pages(tasks[:sample], config, bar)

    def diagnose(self) -> Iterable[Diagnosis]:
        """Check the packages, the browser and CLIP's weights."""
        from colbench.domains.frontend.diagnose import diagnose

        return diagnose()
