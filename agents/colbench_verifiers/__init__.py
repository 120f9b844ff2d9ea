"""ColBench as an environment of verifiers: `vf-eval colbench-verifiers`.

verifiers finds the taskset, the environment and the harness in the exports of this module. Written for verifiers 0.4.
"""

from colbench_verifiers.chat import Chat
from colbench_verifiers.environment import ColBenchEnv
from colbench_verifiers.taskset import ColBenchTaskset

__all__ = ["Chat", "ColBenchEnv", "ColBenchTaskset"]
