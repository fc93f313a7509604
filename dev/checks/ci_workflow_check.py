#!/usr/bin/env python3
"""Runs the workflow of docs/ci.md and action.yml, step by step, in a bare root.

Run by ci_workflow_test.sh, which makes the root and mounts what belongs there.
A step with `run:` is run by the shell that GitHub would run, inside the root,
with GitHub's files for outputs, paths and summaries. Of `uses:`, checkouts are
done by git, artifacts are looked for, and this repository's action is expanded.
"""

import argparse
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import lxml.etree
from ruamel.yaml import YAML

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = ROOT / "testdata/ci_project"
IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@example.org"]


def load(text):
    return YAML(typ="safe").load(text)


def blocks(language):
    """The fenced blocks of docs/ci.md in a language."""
    page = (ROOT / "docs/ci.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


class GitHub(http.server.BaseHTTPRequestHandler):
    """The bundle, and the comments of issue 7."""

    def __init__(self, bundle, comments, *args):
        self.bundle, self.comments = bundle, comments
        super().__init__(*args)

    def answer(self, content):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def body(self):
        assert self.headers["Authorization"] == "Bearer t0ken"
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def do_GET(self):
        if self.path == "/feedrate.tar.gz":
            self.answer(self.bundle.read_bytes())
        elif self.path.startswith("/repos/o/p/issues/7/comments"):
            self.answer(json.dumps(self.comments).encode())
        else:
            self.send_error(404)

    def do_POST(self):
        assert self.path == "/repos/o/p/issues/7/comments", self.path
        self.comments.append(
            {
                "id": len(self.comments) + 1,
                "user": {"login": "github-actions[bot]"},
                **self.body(),
            }
        )
        self.answer(b"{}")

    def do_PATCH(self):
        start, number = self.path.rsplit("/", 1)
        assert start == "/repos/o/p/issues/comments", self.path
        self.comments[int(number) - 1].update(self.body())
        self.answer(b"{}")

    def log_message(self, *args):
        pass


def evaluate(expression, context):
    """A GitHub expression of names, texts, ==, !=, || and always()."""
    failed = context["failed"]
    if "always()" in expression:
        return True

    def value(word):
        word = word.strip()
        if word.startswith("'"):
            return word.strip("'")
        found = context
        for part in word.split("."):
            found = found.get(part, "") if isinstance(found, dict) else ""
        return found

    for comparison in ("==", "!="):
        if comparison in expression:
            left, right = expression.split(comparison)
            same = value(left) == value(right)
            return not failed and same == (comparison == "==")
    for alternative in expression.split("||"):
        if value(alternative):
            return value(alternative)
    return ""


def fill(text, context):
    return re.sub(
        r"\$\{\{(.*?)\}\}",
        lambda found: str(evaluate(found[1], context)),
        str(text),
    )


class Runner:
    """One job on a fresh machine: the steps so far, and what they left."""

    def __init__(self, root, name, event, url):
        self.root = root
        self.folder = pathlib.Path("/home/runner") / name
        shutil.rmtree(self.inside(self.folder), ignore_errors=True)
        for part in ("temp", "work"):
            self.inside(self.folder / part).mkdir(parents=True)
        self.log, self.paths, self.code = "", [], 0
        self.context = {
            "github": {
                "event_name": "pull_request" if event else "workflow_dispatch",
                "event": {"pull_request": event} if event else {},
                "ref": "refs/heads/main",
                "repository": "o/p",
                "token": "t0ken",
                "job": name,
            },
            "runner": {"temp": str(self.folder / "temp")},
            "env": {"BUNDLE": f"{url}/feedrate.tar.gz"},
            "steps": {},
            "failed": False,
        }
        self.url = url

    def inside(self, path):
        return self.root / str(path).lstrip("/")

    def file(self, name):
        return self.inside(self.folder / "work" / name).read_text()

    def shell(self, script, env):
        """As `shell: bash` of GitHub runs a script."""
        path = self.folder / "temp/step.sh"
        self.inside(path).write_text(script)
        for name in ("output", "path", "summary"):
            self.inside(self.folder / f"temp/{name}").touch()
        usual = ["/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        variables = {
            "HOME": "/root",
            "PATH": ":".join(self.paths + usual),
            "DEBIAN_FRONTEND": "noninteractive",
            "RUNNER_TEMP": self.folder / "temp",
            "GITHUB_OUTPUT": self.folder / "temp/output",
            "GITHUB_PATH": self.folder / "temp/path",
            "GITHUB_STEP_SUMMARY": self.folder / "temp/summary",
            "GITHUB_API_URL": self.url,
            "GITHUB_REPOSITORY": "o/p",
            "GITHUB_ACTOR": "somebody",
            "GITHUB_JOB": self.folder.name,
            **env,
        }
        command = ["chroot", self.root, "env", "-i", "-C", self.folder / "work"]
        command += [f"{key}={value}" for key, value in variables.items()]
        command += ["bash", "--noprofile", "--norc"]
        done = subprocess.run(
            [*command, "-eo", "pipefail", path],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.log += done.stdout
        self.paths = self.inside(self.folder / "temp/path").read_text().split()
        return done.returncode

    def checkout(self, values):
        """actions/checkout: a branch becomes a local one, a commit does not."""
        ref = values["ref"]
        path = values.get("path", ".")
        branch = re.sub("^refs/heads/", "", ref)
        switch = (
            f"checkout -q {ref}" if branch == ref else f"switch -q {branch}"
        )
        clone = (
            f"git clone -q /srv/project.git {path} && git -C {path} {switch}"
        )
        assert self.shell(clone, {}) == 0, self.log

    def run(self, steps, env, context=None):
        context = context or self.context
        for step in steps:
            condition = fill(step.get("if", ""), context)
            if condition:
                if not evaluate(condition, context):
                    continue
            elif context["failed"]:
                continue
            values = {
                key: fill(value, context)
                for key, value in step.get("with", {}).items()
            }
            uses = step.get("uses", "")
            if uses.startswith("actions/checkout@"):
                self.checkout(values)
            elif uses.startswith("actions/upload-artifact@"):
                self.artifacts = [
                    found
                    for path in values["path"].split()
                    for found in self.root.glob(
                        str(self.folder / "work" / path).lstrip("/")
                    )
                ]
            elif uses:
                self.expand(values)
            else:
                variables = {**env, **step.get("env", {})}
                filled = {k: fill(v, context) for k, v in variables.items()}
                code = self.shell(step["run"], filled)
                if code != 0:
                    self.code, context["failed"] = code, True
                    self.failed_at = step["name"]
            outputs = self.inside(self.folder / "temp/output").read_text()
            if "id" in step:
                context["steps"][step["id"]] = {
                    "outputs": dict(
                        line.split("=", 1) for line in outputs.splitlines()
                    )
                }
        return self

    def expand(self, values):
        """action.yml, with its own inputs and steps."""
        action = load((ROOT / "action.yml").read_text())
        inputs = {
            name: values.get(name, entry.get("default"))
            for name, entry in action["inputs"].items()
        }
        assert set(values) <= set(inputs), values
        context = {**self.context, "inputs": inputs, "steps": {}}
        self.run(action["runs"]["steps"], {}, context)

    def check(self, verdict):
        """What a job shows: slower, crashed, nothing."""
        annotations = [x for x in self.log.splitlines() if x.startswith("::")]
        errors = [line for line in annotations if line.startswith("::error")]
        summary = self.inside(self.folder / "temp/summary").read_text()
        suite = lxml.etree.fromstring(self.file("junit.xml").encode())
        failures = len(suite.findall(".//failure"))
        bad = failures + len(suite.findall(".//error"))
        where = f"{self.folder.name}, {verdict}: exit {self.code}\n{self.log}"
        if verdict == "slower":
            assert self.code == 3 and self.failed_at == "Verdict", where
            assert errors and "slower" in summary and failures == 1, where
        elif verdict == "crashed":
            assert self.code == 2 and self.failed_at == "Verdict", where
            assert errors and bad and "crashed" in summary, where
        else:
            # A busy machine may be unable to tell, which warns.
            assert self.code == 0 and not errors and bad == 0, where
            assert "same" in summary or "cannot tell" in summary, where
        print(f"{self.folder.name}: {verdict}: exit {self.code}", flush=True)


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", folder, *IDENTITY, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


class Origin:
    """The project's repository, which the root has as /srv/project.git."""

    def __init__(self, root, worse, env):
        self.folder = root / "srv/project"
        self.bare = root / "srv/project.git"
        for folder in (self.folder, self.bare):
            shutil.rmtree(folder, ignore_errors=True)
        self.worse = worse
        shutil.copytree(PROJECT, self.folder)
        model = ROOT / "testdata/eval/byte_lm_tiny.ckpt"
        shutil.copy(model, self.folder / "model.ckpt")
        git(self.folder, "init", "-q", "-b", "main")
        (command,) = blocks("sh")
        subprocess.run(
            ["bash", "-ec", command], cwd=self.folder, env=env, check=True
        )
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-qm", "base")
        git(root, "clone", "-q", "--bare", self.folder, self.bare)
        git(self.folder, "remote", "add", "origin", self.bare)

    def workflow(self):
        path = self.folder / ".github/workflows/performance.yml"
        return load(path.read_text())

    def pull_request(self, kind):
        """A branch from what main is now, as the event of GitHub has it."""
        git(self.folder, "switch", "-q", "main")
        git(self.folder, "pull", "-q", "origin", "main")
        git(self.folder, "switch", "-q", "-C", kind)
        bench = self.folder / "bench.cc"
        text = bench.read_text()
        if kind == "slower":
            text = text.replace("kLength = 2000", "kLength = 40000")
            shutil.copy(self.worse, self.folder / "model.ckpt")
        elif kind == "crashed":
            text = text.replace("BENCHMARK_MAIN", "int main() { abort(); }\n//")
        else:
            text += "// A comment changes nothing.\n"
        assert text != bench.read_text()
        bench.write_text(text)
        git(self.folder, "commit", "-qam", kind)
        git(self.folder, "push", "-qf", "origin", kind)
        return {
            "number": 7,
            "base": {"sha": git(self.folder, "rev-parse", "main")},
            "head": {
                "sha": git(self.folder, "rev-parse", "HEAD"),
                "repo": {"full_name": "o/p"},
            },
        }


def run_workflow(new_runner, origin, comments):
    jobs = origin.workflow()["jobs"]

    def run(name, event):
        job = jobs[name]
        runner = new_runner(name, event)
        if "if" in job and not evaluate(job["if"], runner.context):
            return None
        return runner.run(job["steps"], job["env"])

    # By hand: only `baseline` runs, and its commit arrives in main.
    assert run("duel", None) is None and run("eval", None) is None
    stored = run("baseline", None)
    assert stored.code == 0, stored.log
    files = git(origin.bare, "ls-tree", "-r", "--name-only", "main")
    assert re.search(r"^performance/.*\.rows\.jsonl$", files, re.M), files
    print("baseline: stored", flush=True)

    # Somebody who would like to edit the verdict later.
    forged = {
        "id": 1,
        "user": {"login": "mallory"},
        "body": "<!-- feedrate duel -->",
    }
    comments.append(forged.copy())
    for kind, found in (("slower", 3), ("same", 0)):
        event = origin.pull_request(kind)
        for name in jobs:
            runner = run(name, event)
            runner.check(kind)
            kept = {path.name for path in runner.artifacts}
            assert {"verdicts.md", "junit.xml", "verdicts.sarif"} <= kept, kept
        # One comment per job; those of the second round took their place.
        assert comments[0] == forged, comments
        assert len(comments) - 1 == len(jobs) == 3, comments
        bodies = [comment["body"] for comment in comments[1:]]
        assert sum("1 slower" in body for body in bodies) == found, bodies
    run("duel", origin.pull_request("crashed")).check("crashed")


def run_action(new_runner, origin):
    found = [load(text) for text in blocks("yaml")]
    duel, stored = (steps for steps in found if "uses" in steps[0])
    build = {
        "name": "Build",
        "run": "for side in b*/ h*/; do make -C $side bench; done",
    }

    def checkout(side, sha):
        values = {"ref": sha, "path": side}
        return {"uses": "actions/checkout@v4", "with": values}

    for kind in ("slower", "same", "crashed"):
        event = origin.pull_request(kind)
        sides = [
            checkout(side, event[side]["sha"]) for side in ("base", "head")
        ]
        new_runner("action_duel", event).run([*sides, build, *duel], {}).check(
            kind
        )

    # The checkout is the working folder, on main for the update.
    for kind in ("main", "slower", "same"):
        event = None if kind == "main" else origin.pull_request(kind)
        ref = event["head"]["sha"] if event else "refs/heads/main"
        runner = new_runner("action_stored", event)
        runner.context["env"]["UPDATE"] = "true" if kind == "main" else "false"
        steps = [checkout(".", ref), {"name": "Build", "run": "make bench"}]
        runner.run(steps + stored, {})
        if kind == "main":
            assert runner.code == 0, runner.log
            assert "baseline_update" in runner.log, runner.log
        else:
            runner.check(kind)

    values = {**duel[0]["with"], "sha256": "0" * 64}
    runner = new_runner("action_sha256", None)
    runner.run([{**duel[0], "with": values}], {})
    assert runner.failed_at == "Get feedrate", runner.log
    print("action: another checksum fails", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--bundle", type=pathlib.Path, required=True)
    parser.add_argument("--worse", type=pathlib.Path, required=True)
    args = parser.parse_args()
    comments = []
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(GitHub, args.bundle, comments)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    env = {**os.environ, "FEEDRATE": str(ROOT)}
    env["BUNDLE"] = f"{url}/feedrate.tar.gz"
    origin = Origin(args.root, args.worse, env)

    def new_runner(name, event):
        return Runner(args.root, name, event, url)

    run_workflow(new_runner, origin, comments)
    run_action(new_runner, origin)
    server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
