"""The examples of docs/agents.md, run as they are written: 20 tasks, killed on the way, as good as the native agent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from colbench.messages import Message
from colbench.models.scripted_server import ScriptedServer
from colbench_agents.interviewer import Interviewer

pytestmark = pytest.mark.slow

DOC = Path(__file__).parents[3] / "docs" / "agents.md"
SECTIONS = re.findall(r"^## (.+)$(.*?)(?=^## |\Z)", DOC.read_text("utf-8"), re.M | re.S)
FENCES = {title: re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) for title, text in SECTIONS}
EXAMPLES = {
    "A function": "openai",
    "OpenAI Agents SDK": "openai-agents",
    "LangGraph": "langgraph",
    "smolagents": "smolagents",
    "CollabLLM": "collabllm",
}
"""The headings, and the package that each example needs."""
TASKS = 20
INTERVIEWER = Interviewer(max_questions=4)


def interview(dialogue):
    """The rule-based agent's next words; it never waits for anything."""
    try:
        INTERVIEWER.reply(dialogue).send(None)
    except StopIteration as end:
        return end.value.content


def script(messages):
    """The interviewer as a model, also where it is asked by smolagents, which tells what was said in its own way."""
    heard = [said for m in messages for said in m.content.split("New task:\n")[1:] if m.role == "user"]
    if not heard:
        return interview([m for m in messages if m.role != "system"])
    dialogue = [Message(role="user", content=heard[0])]
    for said in heard[1:]:
        asked = Message(role="assistant", content=interview(dialogue))
        dialogue += [asked, Message(role="user", content=said)]
    return json.dumps({"name": "final_answer", "arguments": {"answer": interview(dialogue)}})
