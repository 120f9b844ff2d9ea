"""ColBench as an environment of the package verifiers (version 0.4): `vf-eval colbench-verifiers`.

verifiers finds the taskset, the environment and the harness in the exports of this module.
"""

from colbench_verifiers.chat import Chat
from colbench_verifiers.environment import ColBenchEnv
from colbench_verifiers.taskset import ColBenchTaskset

__all__ = ["Chat", "ColBenchEnv", "ColBenchTaskset"]
