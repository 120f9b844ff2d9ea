"""What is published about a run contains no folders, URLs or commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from colbench.redaction import public_spec, scrub


@pytest.mark.parametrize(
    ("spec", "public"),
    [
        ("guesser", "guesser"),
        ("cmd:python /home/me/agent.py --key abc", "cmd"),
        ("http://10.0.0.7:8000/reply", "http"),
        ("openai:Qwen/Qwen3-8B@http://10.0.0.7:8000/v1", "openai:Qwen/Qwen3-8B"),
        ("openai:Qwen/Qwen3-8B", "openai:Qwen/Qwen3-8B"),
        ("vllm:/data/me/model-8b/", "vllm:model-8b"),
        ("vllm:runs/customer/model-8b", "vllm:model-8b"),
        ("vllm:Qwen/Qwen3-8B", "vllm:Qwen/Qwen3-8B"),
        ("local:~/checkpoints/last", "local:last"),
        ("local:runs/customer/actor", "local:actor"),
        ("local:runs/actor", "local:actor"),
        ("../mine/agent.py:Agent", "agent.py:Agent"),
        ("package.module:Agent", "package.module:Agent"),
        ("bundled:backend/test", "bundled:backend/test"),
        ("/home/me/tasks.jsonl", "tasks.jsonl"),
        ("file:/home/me/tasks.parquet", "file:tasks.parquet"),
    ],
)
def test_a_spec_is_sent_without_its_path_or_address(spec, public):
    assert public_spec(spec) == public


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("T0 bubblewrap+seccomp · CPython 3.11 · 1 s CPU, 5 s wall a call", None),
        ("sha256:0123abcd", None),
        ("colbench_agents.guesser:Guesser", None),
        ("tokens/s and/or 3/4", None),
        ("Chromium 131.0.6778.33; assets 3; code 5; Pillow 11.0", None),
        (f"at {Path.home()}/x/y.py:3", "at y.py:3"),
        ("'/opt/models/a b'", "'a b'"),
        (r"C:\Users\me\x.py", "x.py"),
        ("s3://bucket/key", "s3:…"),
        ("cmd:/home/me/run.sh", "cmd:run.sh"),
        ("path:/home/me/x/y.py", "path:y.py"),
        ("in /usr/bin:/home/me/bin:~/bin", "in bin:bin:bin"),
        ("C:/Users/me/x.py", "C:x.py"),
        ("file:///home/me/x.py", "file:…"),
        ("https://me:pass@host:8000/a:/b", "https:…"),
    ],
)
def test_a_text_is_sent_without_paths_and_addresses(text, public):
    assert scrub(text) == (public or text)
