"""The human played by a vision model, which sees the target and the designer's page and describes the differences.

Pages and the designer's messages may try to mislead the human: pages are shown only as pictures, and the prompt
contains the designer's words as quoted data.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence

from colbench.errors import SimulatorError
from colbench.interfaces import ChatModel
from colbench.messages import Message
from colbench.models.human import Voice
from colbench.pages.extract import extract_page, target_page
from colbench.pages.render import PageRenderer, Render, RenderOutcome
from colbench.task import Task

SPEAKERS = {"user": "Person", "assistant": "Designer"}
FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}).*\n?", re.M)
PAGE = "[a page]"
QUOTED_CHARS = 2000
"""Maximum number of characters that the human sees of each message; a page in the message does not count."""

ONE_PICTURE = "The picture shows the page that you have in mind. The designer has shown you no page this time."
TWO_PICTURES = (
    "There are two pictures. The first shows the page that you have in mind, the second the page that the "
    "designer has just made. Both are at the same scale; a page that is very tall is cut off at the bottom."
)
NOT_SEEN: dict[RenderOutcome, str] = {
    "no page": "I cannot see a page.",
    "too big": "I cannot see your page: it is too big for my browser. Please make it smaller.",
    "timeout": "I cannot see your page: it never finishes loading. Please make it simpler.",
    "crash": "I cannot see your page: my browser breaks down on it. Please make it simpler.",
    "varies": "I cannot see your page: it looks different each time I load it. Please make it stand still.",
}


class VisionHuman:
    """A human who sees pages as pictures: the target page, and the page in the agent's last message.

    A reply to a message with a page includes the page's picture. If the browser cannot render the page, a fixed reply
    says so instead. The placeholders of the prompt are `{problem_description}`, `{pictures}` (what the pictures show)
    and `{dialogue_history}`.
    """

    def __init__(self, chat: ChatModel, voice: Voice) -> None:
        self.chat = chat
        self.voice = voice
        self._renderer: PageRenderer | None = None

    def use_renderer(self, renderer: PageRenderer) -> None:
        """Set the renderer that turns pages into pictures."""
        self._renderer = renderer

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        """Return the model's reply as the human.

        Raises SimulatorError if the model gives no reply or the target cannot be rendered, RenderError if the browser
        fails, RuntimeError if `use_renderer` was not called.
        """
        page = extract_page(dialogue[-1].content)
        target, made = await self._look(target_page(task.hidden.reference), page)
        if target.outcome != "rendered":
            why = target.note or target.outcome
            raise SimulatorError(f"the target page of {task.id} cannot be rendered: {why}")
        if page and made.outcome != "rendered":
            return Message(role="user", content=NOT_SEEN[made.outcome])
        seen = (made.picture,) if page else ()
        values = {
            "problem_description": task.request,
            "pictures": TWO_PICTURES if page else ONE_PICTURE,
            "dialogue_history": history(dialogue),
        }
        said = await self.voice.speak(self.chat, values, (target.picture, *seen))
        return Message(role="user", content=said.content, usage=said.usage, images=seen)

    async def _look(self, target: str, page: str | None) -> tuple[Render, Render]:
        if self._renderer is None:
            raise RuntimeError(
                "call use_renderer() before respond(): the human looks at rendered pages"
            )
        render = self._renderer.render
        return await asyncio.gather(render(target), render(page))


def history(dialogue: Sequence[Message]) -> str:
    """Return the conversation so far, one line for each message; messages are quoted as `words` returns them."""
    return "\n".join(
        f"{SPEAKERS[message.role]}: {json.dumps(words(message.content), ensure_ascii=False)}"
        for message in dialogue
    )


def words(content: str) -> str:
    """Return a message's text without code fences, cut to `QUOTED_CHARS` characters; `PAGE` replaces the page."""
    page = extract_page(content)
    said = content.replace(page, PAGE) if page else content
    said = FENCE_LINE.sub("", said).strip()
    return said if len(said) <= QUOTED_CHARS else said[:QUOTED_CHARS] + " …"
