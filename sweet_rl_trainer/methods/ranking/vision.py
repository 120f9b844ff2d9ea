"""A critic that sees pages, like the paper's critic for frontend design: a separate model and its pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from colbench.messages import split_reply
from colbench.pages.extract import extract_page
from colbench.registry import get_domain
from sweet_rl_trainer.agents.pages import Camera
from sweet_rl_trainer.data.pictures import Album, Picture
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.data.vision import VisionChat, pages_of
from sweet_rl_trainer.methods.ranking.critic_settings import VisionSettings
from sweet_rl_trainer.methods.ranking.turns import Candidates
from sweet_rl_trainer.model.checkpoint import load_processor

BASE = "critic-model"
"""Name of the stages' input with the model that the critic starts from."""


class Sight:
    """Pictures of pages for a critic. Pages are rendered as the human sees them, shrunk, and stored in a folder."""

    def __init__(self, settings: VisionSettings, domain: str, base: Path, folder: Path) -> None:
        """Prepare to render pages.

        `base` is the folder of the critic's model, and `folder` is the folder of the pictures.
        """
        processor = load_processor(base)
        album = Album(folder, processor.image_processor, max_pixels=settings.max_pixels)
        self._camera = Camera(domain, album)
        self.chat = VisionChat(processor, self._camera, read_pages=settings.read_pages)
        """Encoder of dialogues with these pictures."""

    def take(self, trajectories: Iterable[Trajectory]) -> None:
        """Render all pages of the dialogues in one batch."""
        self._camera.take(page for each in trajectories for page in pages_of(each))

    def take_candidates(self, candidates: Iterable[Candidates]) -> None:
        """Render, in one batch, the pages in the candidates and in the dialogues that the candidates continue."""
        self._camera.take(page for each in candidates for page in _pages(each))

    @property
    def unseen(self) -> dict[str, int]:
        """A summary with the number of pages that could not be rendered; empty if all could be rendered."""
        count = self._camera.unseen
        return {"pages that cannot be rendered": count} if count else {}


def _pages(candidates: Candidates) -> Iterator[str]:
    yield from pages_of(candidates.turn.trajectory)
    public = (split_reply(reply.text)[2] for reply in candidates.replies)
    yield from filter(None, map(extract_page, public))


def unseen_chat(settings: VisionSettings, base: Path) -> VisionChat:
    """Return an encoder that counts tokens without rendering pages: every picture has the maximum number of tokens."""
    processor = load_processor(base)
    album = Album(Path(), processor.image_processor, max_pixels=settings.max_pixels)
    largest = Picture(name="", tokens=album.most_tokens)
    return VisionChat(processor, lambda _: largest, read_pages=settings.read_pages)


def problems(settings: VisionSettings, domain: str) -> Iterator[str]:
    """Yield a message for each setting that is wrong or does not fit the domain."""
    if not get_domain(domain).pictured:
        yield f"critic.vision: the human sees no pictures in the domain {domain}; remove critic.vision"
    if settings.max_pixels < 4 * 28 * 28:
        yield f"critic.vision.max_pixels {settings.max_pixels}: expected {4 * 28 * 28} or more"
