"""The person at the terminal as the agent or the human of a dialogue."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from colbench.cli.play import screen
from colbench.cli.play.keyboard import Keyboard
from colbench.cli.play.pen import Pen
from colbench.cli.view import say
from colbench.errors import SimulatorError
from colbench.interfaces import Agent, Episode
from colbench.messages import ANSWER_MARKER, Message
from colbench.pages.extract import extract_page, target_page
from colbench.pages.render import PageRenderer, Render
from colbench.presentation import Draft
from colbench.registry import get_domain
from colbench.task import Task

HUMAN = (
    "You are the human. You want what is shown below; the agent knows only your request. Answer "
    "its questions as a person who does not write code. The agent ends the dialogue."
)


class Desk:
    """The tools of a person in either role: keyboard, waiting indicator, and folder for pictures."""

    def __init__(self, keyboard: Keyboard) -> None:
        self.keyboard = keyboard
        self.waiting = screen.Waiting()
        self._told = False
        self._pictures = Path()
        self._name = ""

    def begin(self, task: Task, pictures: Path) -> None:
        """Start a dialogue on a task; its pictures are stored in the folder `pictures`."""
        self._pictures = pictures
        self._name = re.sub(r"[^\w.-]+", "-", task.id)
        screen.rule(f"{task.id}  ({task.domain})")

    def tell(self, rules: str) -> None:
        """Print the rules at the first call only."""
        if not self._told:
            screen.note(f"{rules} /help shows more.\n")
        self._told = True

    def keep(self, picture: bytes, what: str) -> Path:
        """Write a picture of the dialogue to a file, and return its path."""
        self._pictures.mkdir(parents=True, exist_ok=True)
        file = self._pictures / f"{self._name}-{what}.png"
        file.write_bytes(picture)
        return file


class PersonAgent:
    """The person as the agent, who asks questions and gives the answer."""

    spec = "person"
    accepts_images = True

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """Yield the person as the agent of one dialogue."""
        yield _Asking(self._desk, episode)


class _Asking:
    accepts_images = True

    def __init__(self, desk: Desk, episode: Episode) -> None:
        self._desk = desk
        self._episode = episode
        self._pen = Pen(desk.keyboard, {})

    async def reply(self, dialogue: Sequence[Message]) -> str:
        """Return the person's next message."""
        self._desk.waiting.stop()
        domain, turn = self._episode.domain, len(dialogue) // 2 + 1
        self._desk.tell(get_domain(domain).play_rules)
        for picture in dialogue[-1].images:
            file = self._desk.keep(picture, f"turn-{turn - 1}")
            screen.show_picture("your page as the human sees it", file)
        say("human", dialogue[-1].content)
        screen.your_turn(turn, self._episode.max_turns, domain)
        draft = get_domain(domain).draft([message.content for message in dialogue])
        said = await self._pen.message(draft, answers=True)
        over = turn == self._episode.max_turns or ANSWER_MARKER in said
        self._desk.waiting.start("scoring the answer …" if over else "the human reads …")
        return said


class PersonHuman:
    """The person at the terminal as the human, who sees the hidden information and answers questions."""

    spec = "person"

    def __init__(self, desk: Desk, max_turns: int) -> None:
        self._desk = desk
        self._max_turns = max_turns
        self._renderer: PageRenderer | None = None

    def use_renderer(self, renderer: PageRenderer) -> None:
        """Set the renderer that turns pages into pictures."""
        self._renderer = renderer

    async def brief(self, task: Task) -> None:
        """Show the request and the hidden information to the person.

        Raises SimulatorError if the target page of the task cannot be rendered.
        """
        self._desk.tell(HUMAN)
        pictured = get_domain(task.domain).pictured
        if pictured:
            target = await self._look(target_page(task.hidden.reference))
            if target.outcome != "rendered":
                why = target.note or target.outcome
                raise SimulatorError(f"the target page of {task.id} cannot be rendered: {why}")
            screen.show_picture(
                "the page you have in mind", self._desk.keep(target.picture, "target")
            )
        say("human: your request", task.request)
        screen.hidden(task, reference=not pictured)
        if pictured:
            screen.note("/hidden shows the HTML as well.\n")
        self._desk.waiting.start("the agent writes …")

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        """Show the agent's last message, and a picture of the page that it may contain; return the person's reply."""
        self._desk.waiting.stop()
        turn, said = len(dialogue) // 2, dialogue[-1].content
        page = extract_page(said) if get_domain(task.domain).pictured else None
        made = await self._look(page) if page else None
        screen.rule(f"your turn; the agent has had {turn} of {self._max_turns} turns")
        say("agent", said.replace(page, "[a page]") if page else said)
        if made and made.picture:
            screen.show_picture("the agent's page", self._desk.keep(made.picture, f"turn-{turn}"))
        elif made:
            screen.note(f"The agent's page cannot be shown: {made.note or made.outcome}\n")
        pen = Pen(self._desk.keyboard, {"/hidden": lambda: screen.hidden(task)})
        words = await pen.message(Draft(text="", suffix=".txt", required=True), answers=False)
        self._desk.waiting.start("the agent writes …")
        images = (made.picture,) if made and made.picture else ()
        return Message(role="user", content=words, images=images)

    async def _look(self, page: str) -> Render:
        if self._renderer is None:
            raise RuntimeError(
                "call use_renderer() before the dialogue: the human looks at rendered pages"
            )
        return await self._renderer.render(page)
