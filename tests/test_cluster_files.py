"""The job files in configs/cluster: fields that their schedulers document, commands that fgsm takes."""

import re
import shlex
from pathlib import Path

import typer
import yaml

from fgsm_cli.cli import application
from fgsm_cli.config import AttackOptions, build

CLUSTER = Path(__file__).parent.parent / "configs" / "cluster"

# What the TFJob reference of Kubeflow's training operator (kubeflow.org/v1) lists of a job, its run
# policy and a replica; pods are Kubernetes' own.
JOB = {"runPolicy", "successPolicy", "tfReplicaSpecs", "enableDynamicWorker"}
POLICY = {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"}
REPLICA = {"replicas", "restartPolicy", "template"}
RESTARTS = {"Always", "OnFailure", "Never", "ExitCode"}
POD = {"containers", "volumes"}
CONTAINER = {"name", "image", "command", "resources", "volumeMounts"}

SBATCH = {"job-name", "nodes", "ntasks-per-node", "gpus-per-node", "time", "requeue"}


def asked_for(words: list[str]) -> AttackOptions:
    """The options of a command line, read and checked as fgsm itself does."""
    assert words[:2] == ["fgsm", "attack"]
    command = typer.main.get_command(application()).commands["attack"]
    given = command.make_context("attack", words[2:]).params
    values = {
        name.rstrip("_"): value[0] if isinstance(value, list | tuple) else value
        for name, value in given.items()
        if value not in (None, [], ())
    }
    return build(AttackOptions, values)


def test_the_tfjob_is_one_and_its_command_is_valid():
    job = yaml.safe_load((CLUSTER / "tfjob.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "TFJob")
    assert job["spec"].keys() <= JOB
    assert job["spec"]["runPolicy"].keys() <= POLICY
    [worker] = job["spec"]["tfReplicaSpecs"].values()
    assert worker.keys() <= REPLICA
    assert worker["restartPolicy"] in RESTARTS
    pod = worker["template"]["spec"]
    assert pod.keys() <= POD
    [container] = pod["containers"]
    assert container.keys() <= CONTAINER
    assert container["name"] == "tensorflow"  # the one whose exit code the operator reads
    options = asked_for(container["command"])
    assert options.resume
    assert options.cluster == "tf-config"
    mounts = {one["mountPath"] for one in container["volumeMounts"]}
    assert all(path.startswith(tuple(mounts)) for path in (options.model, options.save))


def test_the_slurm_script_is_one_and_its_command_is_valid():
    text = (CLUSTER / "attack.sbatch").read_text()
    assert text.startswith("#!/bin/bash\n")
    assert set(re.findall(r"^#SBATCH --([\w-]+)", text, re.MULTILINE)) <= SBATCH
    words = shlex.split(re.sub(r"^#.*$", "", text, flags=re.MULTILINE).replace("\\\n", " "))
    assert words[:2] == ["srun", "--kill-on-bad-exit=1"]
    options = asked_for(words[2:])
    assert options.resume
    assert options.cluster == "slurm"
