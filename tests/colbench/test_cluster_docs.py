"""The scripts of docs/cluster.md and docs/scaling.md, run as written: a scheduler gives only a shard's number."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys

import jsonschema
import pytest
import yaml
from code_blocks import ROOT, blocks, file

from colbench.rollout import read_rollouts, without_times

CLUSTER = "docs/cluster.md"
SCHEMA = ROOT / "tests" / "vendor" / "kubernetes" / "definitions-1.37.0.json.xz"
JOB = "#/$defs/io.k8s.api.batch.v1.Job"
SHARDS = 4


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Return the environment that every shard starts with; its PATH has a `colbench`."""
    place = tmp_path_factory.mktemp("cluster")
    (place / "bin").mkdir()
    command = place / "bin" / "colbench"
    command.write_text(f'#!/bin/bash\nexec {sys.executable} -m colbench.cli "$@"\n')
    command.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "COLBENCH_AGENT": "demonstrator",
        "COLBENCH_TASKS": "bundled:backend",
        "COLBENCH_LIMIT": "8",
    }


@pytest.fixture(scope="module")
def whole(environment, tmp_path_factory):
    """Return the dialogues of the same run on one machine."""
    out = tmp_path_factory.mktemp("whole") / "run"
    start(["colbench", "eval", "--out", str(out)], environment)
    return dialogues(out)


def start(argv, environment):
    subprocess.run(argv, env=environment, check=True, capture_output=True, timeout=300)


def dialogues(folder):
    return {each.key: without_times(each) for each in read_rollouts(folder / "rollouts.jsonl")}


@pytest.mark.slow
def test_the_slurm_scripts_run_every_shard_and_merge_the_run(tmp_path, environment, whole):
    run = tmp_path / "run"
    for name in ("colbench.sbatch", "merge.sbatch"):
        (tmp_path / name).write_text(file(CLUSTER, name))
    for number in range(1, SHARDS + 1):
        own = {"RUN": str(run), "SLURM_ARRAY_TASK_ID": str(number)}
        start(["bash", str(tmp_path / "colbench.sbatch")], environment | own)
    start(["bash", str(tmp_path / "merge.sbatch")], environment | {"RUN": str(run)})
    assert dialogues(run) == whole


def test_the_slurm_script_has_as_many_tasks_as_shards():
    array = file(CLUSTER, "colbench.sbatch")
    assert f"#SBATCH --array=1-{SHARDS}\n" in array
    assert f"\nSHARDS={SHARDS}\n" in array
    assert array.startswith(
        "#!/bin/bash\n#SBATCH"
    )  # sbatch reads its lines up to the first command


def run_container(job, environment, folder):
    """Run the command of a job's container with its variables; its volume is a local folder."""
    (container,) = job["spec"]["template"]["spec"]["containers"]
    own = {each["name"]: each.get("value", "") for each in container["env"]}
    mounted = {name: value.replace("/runs", str(folder)) for name, value in own.items()}
    chosen = {name: environment[name] for name in environment if name.startswith("COLBENCH_")}
    start([*container["command"], *container["args"]], {**environment, **mounted, **chosen})


@pytest.mark.weekly
def test_the_kubernetes_jobs_run_every_shard_and_merge_the_run(tmp_path, environment, whole):
    parts, merging = (
        yaml.safe_load(file(CLUSTER, name)) for name in ("colbench.yaml", "merge.yaml")
    )
    assert parts["spec"]["completions"] == SHARDS
    for index in range(SHARDS):
        run_container(parts, environment | {"JOB_COMPLETION_INDEX": str(index)}, tmp_path)
    run_container(merging, environment, tmp_path)
    assert dialogues(tmp_path / "my-model") == whole


@pytest.fixture(scope="module")
def schema():
    """Return the schema of a Kubernetes job; it refuses unknown fields."""
    definitions = json.loads(lzma.decompress(SCHEMA.read_bytes()))
    return jsonschema.Draft202012Validator({"$ref": JOB, "$defs": definitions["$defs"]})


@pytest.mark.parametrize("name", ["colbench.yaml", "merge.yaml"])
def test_the_kubernetes_jobs_are_valid(schema, name):
    job = yaml.safe_load(file(CLUSTER, name))
    schema.validate(job)
    job["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
    with pytest.raises(jsonschema.ValidationError, match="volumeMount"):
        schema.validate(job)


@pytest.mark.weekly
def test_the_documented_command_for_a_million_rollouts_is_accepted(environment, tmp_path):
    own = ("COLBENCH_AGENT", "COLBENCH_TASKS", "COLBENCH_LIMIT")
    plain = {name: value for name, value in environment.items() if name not in own}
    commands = [each for block in blocks("docs/scaling.md") for each in block.commands]
    (shard,) = (each for each in commands if each.startswith("colbench eval --shard 1/"))
    found = subprocess.run(
        ["bash", "-c", f"{shard} --dry-run"],
        env=plain,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "shard 1 of 2" in found.stdout
    assert "of 10,000 tasks x 100 = 1,000,000 dialogues" in found.stdout
    assert found.stdout.count("http://a") == 8
    assert found.stdout.count("http://h") == 6
