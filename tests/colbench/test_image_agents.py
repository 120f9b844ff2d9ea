"""Image agents in a run on pages: agents that accept images receive pictures of their pages, others only text."""

from __future__ import annotations

from pathlib import Path

import pytest

from colbench.cli import main
from colbench.dialogue import opened
from colbench.interfaces import Episode
from colbench.rollout import read_rollouts

AGENTS = """
import io
from contextlib import asynccontextmanager
from PIL import Image

PAGE = "<html><body style='background: #102030'>Boats</body></html>"

class Reads:
    async def reply(self, dialogue):
        if len(dialogue) < 5:
            return "What colour is it?" if len(dialogue) == 1 else PAGE
        words = all(message.content for message in dialogue)
        images = [Image.open(io.BytesIO(each)) for message in dialogue for each in message.images]
        seen = [f"{image.format} {image.width} {image.getpixel((640, 700))}" for image in images]
        return f"I WANT TO ANSWER: {words} {seen}"

class Sees(Reads):
    accepts_images = True

class OpensSeeing:
    accepts_images = True
    @asynccontextmanager
    async def open(self, episode):
        yield Reads()

class OpensOneThatSees:
    @asynccontextmanager
    async def open(self, episode):
        yield Sees()
"""
SEEN = "['PNG 1280 (16, 32, 48)']"


@pytest.mark.parametrize(
    ("agent", "seen"),
    [
        ("Reads", "[]"),
        ("Sees", SEEN),
        pytest.param("OpensSeeing", SEEN, marks=pytest.mark.weekly),
        pytest.param("OpensOneThatSees", SEEN, marks=pytest.mark.weekly),
    ],
)
def test_only_agents_that_accept_images_receive_them(
    tmp_path, cache, monkeypatch, browser, agent, seen
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLBENCH_CACHE", str(cache))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    Path("mine.py").write_text(AGENTS)
    argv = ["eval", "--domain", "frontend", "--limit", "2", "--browser", str(browser)]
    assert main([*argv, "--agent", f"mine.py:{agent}", "--out", "out"]) == 0
    for rollout in read_rollouts(Path("out/rollouts.jsonl")):
        assert rollout.turns[2].raw == f"I WANT TO ANSWER: True {seen}"
        assert rollout.answer.startswith("<html>"), "the last page that was shown"


class Blind:
    accepts_images = False

    async def reply(self, dialogue):
        return "no"


class Opener:
    accepts_images = True

    def open(self, episode):
        return self

    async def __aenter__(self):
        return Blind()

    async def __aexit__(self, *error):
        pass


async def test_accepts_images_of_the_opened_agent_overrides_that_of_its_opener():
    episode = Episode(id="e", seed=0, max_turns=3, domain="frontend")
    async with opened(Opener(), episode) as agent:
        assert agent.accepts_images is False
