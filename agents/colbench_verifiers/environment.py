"""The verifiers environment: an agent that verifiers runs talks to the human, and the scorer gives the reward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
import verifiers.v1 as vf

from colbench.errors import AgentError, EndpointError, InfrastructureError, ScorerError
from colbench.hosted.sessions import HostedSession, measures
from colbench.messages import Message
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench_verifiers.taskset import ColBenchTaskset


class ColBenchEnvConfig(vf.EnvConfig):
    """The configuration: one agent, whose harness runs on this machine unless another runtime is set."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class ColBenchEnv(vf.Env[ColBenchEnvConfig]):
    """The environment. An episode is a dialogue; its record, with verdicts, is in the trace as `info["rollout"]`."""

    taskset: ColBenchTaskset

    def __init__(self, config: ColBenchEnvConfig) -> None:
        super().__init__(config)
        self._trials = Counter[str]()

    @property
    def session(self) -> HostedSession:
        """The session that runs the dialogues."""
        return self.taskset.session

    async def start(self) -> None:
        """Start the human, the sandbox and the browser."""
        await self.session.start()

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Run the dialogue, and score it.

        Raises EnvError if something other than the agent failed, such as the human or a server.
        """
        trial = self._trials[task.data.id]
        self._trials[task.data.id] += 1
        async with agents.agent.interaction(task) as interaction:
            try:
                rollout = await self.session.run_dialogue(task.data.id, trial, _Seat(interaction))
                self._record(interaction.trace, await self.session.score(rollout))
            except InfrastructureError as error:
                raise vf.EnvError(str(error)) from error

    def _record(self, trace: vf.Trace, rollout: Rollout) -> None:
        """Put the score into the trace.

        Raises ScorerError if the reward is missing, because verifiers would count a missing reward as 0.
        """
        trace.info["rollout"] = msgspec.to_builtins(rollout)
        verdict = self.session.verdict(rollout)
        values = measures(verdict, rollout.domain)
        domain = get_domain(rollout.domain)
        reward = (domain.success or domain.primary).name
        if reward not in values:
            reason = f": {verdict.note}" if verdict.note else ""
            raise ScorerError(f"the reward is missing, because {reward} has no value{reason}")
        trace.record_reward(reward, values.pop(reward))
        for name, value in values.items():
            trace.record_metric(name, value)


class _Seat:
    """A ColBench agent whose replies come from an agent that the package verifiers runs."""

    def __init__(self, interaction: vf.Interaction) -> None:
        self._interaction = interaction

    async def reply(self, dialogue: Sequence[Message]) -> str:
        asked = len(dialogue) > 1  # the agent's prompt already contains the request
        words = dialogue[-1].content if asked else None
        segment = await self._interaction.turn(words)
        if not segment.terminated:
            return str(segment.last_reply)
        trace = self._interaction.trace
        if trace.errors:
            raise EndpointError(f"{trace.errors[-1].type}: {trace.errors[-1].message}")
        raise AgentError(f"verifiers stopped the rollout: {trace.stop_condition}")
