"""Dialogues in the form that a vision critic reads, formatted by its processor's chat template: pages are pictures.

    [note, picture of the hidden page] system prompt, request, reply [picture of its page], the human's message, reply …

The hidden page is the privileged information c. It is stated only as a picture, at the beginning of the first message.
A reply that shows a page has the page's picture at its end, before the end token; a reply without a page, or with a
page that the browser cannot render, is only text. The tokens of a turn are its words, its picture and its end token.
All these tokens have weights, even the words, although the model reads them before the picture. Private parts of
replies are left out, because the human does not see them, so a dialogue is always one sequence. Special tokens in
messages are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from colbench.errors import DataError
from colbench.messages import split_reply
from colbench.pages.extract import extract_page, target_page
from colbench.registry import get_domain
from sweet_rl_trainer.data.pictures import Picture
from sweet_rl_trainer.data.tokens import OUTSIDE, Encoded, Source, Tokens
from sweet_rl_trainer.data.trajectories import Trajectory

Look = Callable[[str], Picture | None]
"""A function that returns the picture of a page; None if the page cannot be rendered."""
NOTE = (
    "For your eyes only. The picture shows exactly what the person in the conversation below has in mind; the "
    "assistant, who cannot see it, is to find out what it looks like and to make one that looks the same.\n"
)
IMAGE = {"type": "image"}


class VisionChat:
    """An encoder of dialogues in which pages are pictures; it uses a vision model's processor and chat template."""

    def __init__(self, processor: Any, look: Look, *, read_pages: bool = True) -> None:
        """Create the encoder.

        `look` returns the picture of a page. With `read_pages`, a reply also contains the source of its page.
        """
        self._processor = processor
        self._tokenizer = processor.tokenizer
        self._look = look
        self._read_pages = read_pages
        self._image: int = processor.image_token_id

    def encode_trajectory(self, trajectory: Trajectory) -> Encoded:
        """Return a trajectory in tokens.

        Raises DataError if its hidden page cannot be rendered, or if the chat template changes earlier messages or
        leaves out pictures.
        """
        tokens = self._tokens(trajectory, trajectory.replies)
        sources: list[Source] = ["rendered"] * len(trajectory.replies)
        return Encoded(sequences=(tokens,), form="one sequence", sources=tuple(sources))

    def encode_reply(self, trajectory: Trajectory, turn: int, reply: str) -> Tokens:
        """Return the tokens of the messages before a turn (from 0), and the tokens of `reply`.

        Only the reply's tokens have a turn number. Raises DataError in the same cases as `encode_trajectory`.
        """
        found = self._tokens(trajectory, (*trajectory.replies[:turn], reply))
        turns = [each if each == turn else OUTSIDE for each in found.turns]
        return Tokens(ids=found.ids, turns=turns, pictures=found.pictures)

    def _tokens(self, trajectory: Trajectory, replies: Sequence[str]) -> Tokens:
        pieces: list[tuple[str, int]] = []
        pictures: list[Picture] = []
        conversation = self._opening(trajectory, pictures)
        heard = [each.content for each in trajectory.messages if each.role == "user"]
        done = ""
        for number, (words, reply) in enumerate(zip(heard, replies, strict=False)):
            self._say(conversation, "user", [self._text(words)])
            prompt = self._render(conversation, generate=True)
            self._say(conversation, "assistant", self._reply(reply, trajectory.domain, pictures))
            whole = self._render(conversation, generate=False)
            if not (prompt.startswith(done) and whole.startswith(prompt)):
                raise DataError(
                    f"{trajectory.id}, turn {number + 1}: the chat template of the critic's "
                    "model changes earlier messages; choose another model (critic.vision.model)"
                )
            turn = whole[len(prompt) :].rstrip()
            pieces += [(prompt[len(done) :], OUTSIDE), (turn, number)]
            done = prompt + turn
        return self._encoded(pieces, pictures)

    def _opening(self, trajectory: Trajectory, pictures: list[Picture]) -> list[dict[str, Any]]:
        """Return a list with one message: the picture of the hidden page (c), followed by the system prompt, if any."""
        picture = self._look(target_page(trajectory.privileged))
        if picture is None:
            raise DataError(f"{trajectory.id}: the hidden page of the task cannot be rendered")
        pictures.append(picture)
        stated = [{"type": "text", "text": NOTE}, IMAGE, {"type": "text", "text": "\n"}]
        system = [each.content for each in trajectory.messages if each.role == "system"]
        content = [*stated, *map(self._text, system)]
        return [{"role": "system" if system else "user", "content": content}]

    def _say(self, conversation: list[dict[str, Any]], role: str, content: list[Any]) -> None:
        """Add a message, or extend the last one if it has the same role.

        Without a system prompt, the message that states c and the first request have the same role.
        """
        if conversation[-1]["role"] == role:
            content = [*conversation.pop()["content"], *content]
        conversation.append({"role": role, "content": content})

    def _reply(self, reply: str, domain: str, pictures: list[Picture]) -> list[dict[str, str]]:
        said = split_reply(reply)[2]
        page = extract_page(said)
        picture = self._look(page) if page else None
        if page and not self._read_pages:
            said = get_domain(domain).readable(said)
        if picture is None:
            return [self._text(said)]
        pictures.append(picture)
        return [self._text(said), IMAGE]

    def _text(self, text: str) -> dict[str, str]:
        while (without := self._special.sub("", text)) != text:  # removal may form a new token
            text = without
        return {"type": "text", "text": text.strip()}

    @cached_property
    def _special(self) -> re.Pattern[str]:
        added = self._tokenizer.added_tokens_decoder.values()
        return re.compile("|".join(re.escape(token.content) for token in added if token.special))

    def _render(self, messages: Sequence[dict[str, Any]], *, generate: bool) -> str:
        text: str = self._processor.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=generate
        )
        return text

    def _encoded(self, pieces: Sequence[tuple[str, int]], pictures: Sequence[Picture]) -> Tokens:
        ids: list[int] = []
        turns: list[int] = []
        sizes = iter([picture.tokens for picture in pictures])
        for text, turn in pieces:
            found = self._tokenizer(text, add_special_tokens=False).input_ids
            wide = list(self._widened(found, sizes))
            ids += wide
            turns += [turn] * len(wide)
        if next(sizes, None) is not None:
            raise DataError(
                "the chat template of the critic's model leaves out pictures; choose another "
                "model (critic.vision.model)"
            )
        return Tokens(ids=ids, turns=turns, pictures=tuple(each.name for each in pictures))

    def _widened(self, ids: Sequence[int], sizes: Iterator[int]) -> Iterator[int]:
        """Yield the tokens, with each image token repeated as many times as its picture has tokens."""
        for token in ids:
            yield from [token] * next(sizes) if token == self._image else [token]


def pages_of(trajectory: Trajectory) -> Iterator[str]:
    """Yield the pages of a dialogue, the hidden one first."""
    yield target_page(trajectory.privileged)
    yield from filter(None, (extract_page(split_reply(reply)[2]) for reply in trajectory.replies))
