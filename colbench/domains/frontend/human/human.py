"""The rule-based human for pages, who compares the layouts of two pages and describes the differences."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from colbench.domains.frontend.human.differences import differences
from colbench.domains.frontend.human.questions import answer
from colbench.domains.frontend.human.scene import Difference
from colbench.errors import SimulatorError
from colbench.messages import Message
from colbench.pages.extract import extract_page, target_page
from colbench.pages.render import PageRenderer, Render, RenderOutcome
from colbench.task import Task

MOST_DIFFERENCES = 4
MOST_CHARS = 1000
CONTENT = "That is what I have in mind."
NOT_SEEN: dict[RenderOutcome, str] = {
    "no page": "I cannot see a page.",
    "too big": "Your page does not show: it is too big.",
    "timeout": "Your page does not show: it took too long.",
    "crash": "Your page does not show: the browser breaks down on it.",
    "varies": "Your page does not show: it looks different each time it is loaded.",
}
_AGAIN = 0.6
"""Factor by which each mention of a difference lowers its priority."""


class PageHuman:
    """A human who reports the most noticeable differences between the agent's page and the target.

    A reply names at most four differences. The replies are deterministic. Each mention of a difference lowers its
    priority, so that later replies also name other differences. docs/frontend.md has examples of the sentences.
    """

    def __init__(self) -> None:
        self._renderer: PageRenderer | None = None

    def use_renderer(self, renderer: PageRenderer) -> None:
        """Set the renderer that turns pages into pictures."""
        self._renderer = renderer

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        """Return the answer to the agent's last message; if the message has a page, add a picture of this page.

        A page that cannot be rendered gets a fixed reply without a picture. Raises SimulatorError if the target cannot
        be rendered, RenderError if the browser fails, RuntimeError if `use_renderer` was not called.
        """
        if self._renderer is None:
            raise RuntimeError(
                "call use_renderer() before respond(): the human looks at rendered pages"
            )
        said = dialogue[-1].content
        page = extract_page(said)
        target, made = await asyncio.gather(
            self._renderer.render(target_page(task.hidden.reference)), self._renderer.render(page)
        )
        if target.outcome != "rendered":
            why = target.note or target.outcome
            raise SimulatorError(f"the target page of {task.id} cannot be rendered: {why}")
        heard = [message.content for message in dialogue if message.role == "user"][1:]
        if page is None:
            return Message(role="user", content=answer(said, target, heard))
        if made.outcome != "rendered":
            return Message(role="user", content=NOT_SEEN[made.outcome])
        return Message(role="user", content=compare(target, made, heard), images=(made.picture,))


def compare(target: Render, made: Render, heard: Sequence[str] = ()) -> str:
    """Return the human's reply to a page; `heard` holds the earlier replies."""
    return " ".join(_chosen(differences(target, made), heard)) or CONTENT


def _chosen(found: Sequence[Difference], heard: Sequence[str]) -> list[str]:
    times = Counter({one.sentence: sum(one.sentence in words for words in heard) for one in found})
    ranked = sorted(found, key=lambda one: -one.severity * _AGAIN ** times[one.sentence])
    chosen: list[Difference] = []
    for one in ranked:
        if len(chosen) == MOST_DIFFERENCES:
            break
        reworded = {other.rewords for other in chosen} - {""}
        length = sum(len(other.sentence) + 1 for other in chosen) + len(one.sentence)
        if one.about not in reworded and length <= MOST_CHARS:
            chosen.append(one)
    return [one.sentence for one in chosen]
