#!/usr/bin/env python3
"""Writes a GitHub Actions workflow that gates a project's pull requests.

    feedrate ci-workflow --bundle=feedrate --command='./bench' \\
        --build='make bench' --output=.github/workflows/performance.yml
    dev/ci_workflow.py --action           writes action.yml of this repository

Job `duel` builds the base and the head of a pull request side by side and runs
the command of both alternately. Job `baseline` (--baselines) compares the head
with results that are stored in the project; started by hand on branch main, it
stores new ones. Job `eval` (--eval) compares what the models of base and head
have learned. All annotate the log, write a summary and JUnit, and fail with the
exit code of compare_baseline, where 4 ("cannot tell") only warns. The programs
come from a bundle (`make bundle`), a wheel, or the package index of pip.

The shell of the steps takes everything from variables, so the workflow and the
action share it, and nothing from a pull request is pasted into a script.
"""

import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

INSTALL = """\
sudo=
if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
$sudo apt-get update -qq
$sudo apt-get install -qq --yes --no-install-recommends $PACKAGES"""

FETCH = """\
case "$BUNDLE" in
  *.tar.gz)
    bundle="$RUNNER_TEMP/feedrate.tar.gz"
    curl -fsSL --retry 3 -o "$bundle" "$BUNDLE"
    if [ -n "$SHA256" ]; then echo "$SHA256  $bundle" | sha256sum -c -; fi
    mkdir -p "$RUNNER_TEMP/feedrate"
    tar -C "$RUNNER_TEMP/feedrate" --strip-components=1 -xzf "$bundle"
    programs="$RUNNER_TEMP/feedrate/bin"
    ;;
  *)
    # A wheel, or what pip finds by this name.
    python3 -m venv "$RUNNER_TEMP/feedrate"
    "$RUNNER_TEMP/feedrate/bin/pip" install --quiet \\
      "$BUNDLE${SHA256:+#sha256=$SHA256}"
    programs="$("$RUNNER_TEMP/feedrate/bin/python" -c \\
      'import feedrate; print(feedrate.__path__[0])')/bundle/bin"
    ;;
esac
echo "$programs" >>"$GITHUB_PATH\""""

DUEL = """\
set -- --a="$A" --b="$B" --metrics="$METRICS" --output=rows.jsonl
# Code of others may look fast without being fast.
fork=no
if [ -n "$FROM" ] && [ "$FROM" != "$GITHUB_REPOSITORY" ]; then fork=yes; fi
case "$DISTRUST" in
  true|false|auto) ;;
  *) echo "::error::distrust: must be true, false or auto"; exit 1 ;;
esac
case "$DISTRUST $fork $A $B" in
  true*|'auto yes '*{seed}*{seed}*) set -- --distrust "$@" ;;
  'auto yes '*)
    echo "::notice::put {seed} into the commands, and forks need no trust"
    ;;
esac
status=0
duel "$@" || status=$?
# 2: a side failed. Its row says so, and the comparison reports it.
test "$status" -eq 0 -o "$status" -eq 2"""

MEASURE = """\
# Not in the checkout, which must stay clean for an update.
current="$RUNNER_TEMP/results"
mkdir -p "$current"
for run in 1 2 3 4 5; do
  (cd "$FOLDER" && sh -c "$COMMAND") >"$current/$run.json"
done
# Each is an execution. Rows of feedrate go into one file.
if [ "$(head -c 9 "$current/1.json")" = '{"schema"' ]; then
  cat "$current"/?.json >"$RUNNER_TEMP/results.jsonl"
  current="$RUNNER_TEMP/results.jsonl"
fi
echo "current=$current" >>"$GITHUB_OUTPUT\""""

EVALUATE = """\
for side in base head; do (cd "$side" && sh -c "$EVAL"); done
compare_baseline --eval=base/eval.json --baselines=eval_base \\
  --update-baseline --i-am-a-maintainer="base of this pull request\""""

PAIRED = 'set -- --paired --current=rows.jsonl --metrics="$METRICS"'
STORED = """\
set -- --current="$CURRENT" --baselines="$BASELINES" --require-all \\
  ${TOLERANCES:+"--tolerances=$TOLERANCES"}"""
LEARNED = "set -- --eval=head/eval.json --baselines=eval_base"

COMPARE = """\
status=0
compare_baseline "$@" >verdicts.jsonl || status=$?
show() { compare_baseline --current=verdicts.jsonl "$@" || true; }
show --format=markdown --output=verdicts.md
show --format=junit --output=junit.xml
show --format=sarif --output=verdicts.sarif
show --format=github
head -c 1000000 verdicts.md >>"$GITHUB_STEP_SUMMARY"
echo "status=$status" >>"$GITHUB_OUTPUT\""""

UPDATE = """\
compare_baseline --current="$CURRENT" --baselines="$BASELINES" \\
  --update-baseline"""

PUSH = """\
cd head
git add -- "${BASELINES#head/}"
git -c user.name="$GITHUB_ACTOR" \\
  -c user.email="$GITHUB_ACTOR@users.noreply.github.com" \\
  commit -m "Baseline of $(git rev-parse --short HEAD) [skip ci]"
git push origin HEAD:main"""

COMMENT = """\
# One comment per job, which later runs replace: our own, not one that somebody
# else can edit. GitHub takes 65536 characters.
mark="<!-- feedrate $GITHUB_JOB -->"
{ echo "$mark"; cat verdicts.md; } | jq -Rs '{body: .[:65000]}' >comment.json
api() {
  curl -fsS -H "Authorization: Bearer $GH_TOKEN" \\
    -H "Accept: application/vnd.github+json" "$@"
}
comments="$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues"
old="$(api "$comments/$NUMBER/comments?per_page=100" |
  jq -r --arg mark "$mark" \\
    '[.[] | select(.user.login == "github-actions[bot]")
      | select(.body | startswith($mark)) | .id][0] // empty')"
if [ -n "$old" ]; then
  api -X PATCH -d @comment.json "$comments/comments/$old" >/dev/null
else
  api -d @comment.json "$comments/$NUMBER/comments" >/dev/null
fi"""

VERDICT = """\
case "$STATUS" in
  0) ;;
  4) echo "::warning::cannot tell whether something got slower" ;;
  *) exit "$STATUS" ;;
esac"""


def step(name, run=None, **keys):
    """A step as lines. Keys: id, condition, uses, values (with:), env."""
    lines = [f"- name: {name}"]
    for key, label in (("id", "id"), ("condition", "if"), ("uses", "uses")):
        if keys.get(key):
            lines.append(f"  {label}: {keys[key]}")
    for key, label in (("values", "with"), ("env", "env")):
        if keys.get(key):
            lines.append(f"  {label}:")
            for entry, value in keys[key].items():
                if "\n" in value:
                    lines.append(f"    {entry}: |")
                    lines += [f"      {part}" for part in value.split("\n")]
                else:
                    lines.append(f"    {entry}: {value}")
    if keys.get("shell"):
        lines.append(f"  shell: {keys['shell']}")
    if run:
        lines.append("  run: |")
        lines += [f"    {line}" for line in run.split("\n")]
    return lines


def quoted(text):
    """A text of a flag as YAML has it: JSON, but for what YAML cannot print."""
    return re.sub(
        "[\x7f-\x9f\u2028\u2029\ufeff]",
        lambda found: f"\\u{ord(found[0]):04x}",
        json.dumps(text, ensure_ascii=False),
    )


def indent(lines, spaces):
    return [" " * spaces + line if line else line for line in lines]


def checkout(side, ref, credentials="false"):
    # What is measured must not find the token of the job.
    values = {"ref": ref, "path": side, "persist-credentials": credentials}
    return step(
        f"Check out the {side}", uses="actions/checkout@v4", values=values
    )


# The repository of the pull request. Where its fork is gone, it has no name.
FROM = (
    "${{ github.event.pull_request.head.repo.full_name"
    " || github.event.pull_request.head.sha }}"
)

BASE = checkout("base", "${{ github.event.pull_request.base.sha }}")
HEAD = checkout("head", "${{ github.event.pull_request.head.sha }}")


def prepare(args, folders):
    """Everything before the first measurement, for checkouts in folders."""
    lines = []
    if args.packages:
        lines += step("Install packages", INSTALL)
    lines += step("Get feedrate", FETCH)
    if args.environments:
        lines += step("Make Python environments", "feedrate envs $ENVIRONMENTS")
    if args.build:
        build = (
            f'for side in {folders}; do (cd "$side" && sh -c "$BUILD"); done'
        )
        lines += step("Build", build)
    return lines


def conclude(compare, pull_request, current=None):
    """Compares, keeps, comments, and fails where something got slower."""
    same_repository = (
        "github.event.pull_request.head.repo.full_name == github.repository"
    )
    return (
        step(
            "Compare",
            f"{compare}\n{COMPARE}",
            id="compare",
            condition=pull_request,
            env=current,
        )
        + step(
            "Keep the results",
            uses="actions/upload-artifact@v4",
            condition="always()",
            values={
                "name": "${{ github.job }}",
                "path": "rows.jsonl\nverdicts.*\njunit.xml\n"
                "${{ runner.temp }}/results",
            },
        )
        + step(
            "Comment",
            COMMENT,
            condition=same_repository,
            env={
                "GH_TOKEN": "${{ github.token }}",
                "NUMBER": "${{ github.event.pull_request.number }}",
            },
        )
        + step(
            "Verdict",
            VERDICT,
            condition=pull_request,
            env={"STATUS": "${{ steps.compare.outputs.status }}"},
        )
    )


def job(name, args, runner, condition, env, steps):
    lines = [f"{name}:", f"  runs-on: {runner}", "  timeout-minutes: 120"]
    if condition:
        lines.append(f"  if: {condition}")
    if name == "baseline":
        # To push a baseline. Pull requests of forks get no such token.
        lines += ["  permissions:", "    contents: write"]
        lines += ["    pull-requests: write"]
    lines.append("  env:")
    common = {
        "BUNDLE": args.bundle,
        "SHA256": args.sha256,
        "PACKAGES": args.packages,
        "ENVIRONMENTS": args.environments,
        "BUILD": args.build,
    }
    lines += [
        f"    {key}: {quoted(value)}"
        for key, value in {**common, **env}.items()
        if value or key == "SHA256"
    ]
    return indent([*lines, "  steps:", *indent(steps, 4)], 2)


PULL_REQUEST = "github.event_name == 'pull_request'"
BY_HAND = "github.event_name == 'workflow_dispatch'"


def workflow(args):
    lines = [
        "# By feedrate ci-workflow; run it again to change this.",
        "name: performance",
        "on:",
        "  pull_request:",
        "    branches: [main]",
    ]
    if args.baselines:
        lines.append("  workflow_dispatch:")
    lines += [
        "permissions:",
        "  contents: read",
        "  pull-requests: write",
        "concurrency:",
        "  group: performance-${{ github.ref }}",
        "  cancel-in-progress: true",
        "defaults:",
        "  run:",
        "    shell: bash",
        "jobs:",
    ]
    lines += job(
        "duel",
        args,
        args.runner,
        PULL_REQUEST if args.baselines else "",
        {
            "A": f"cd base && {args.command}",
            "B": f"cd head && {args.command}",
            "METRICS": args.metrics,
            "DISTRUST": "auto",
            "FROM": FROM,
        },
        BASE
        + HEAD
        + prepare(args, "base head")
        + step("Duel", DUEL)
        + conclude(PAIRED, ""),
    )
    if args.baselines:
        current = {"CURRENT": "${{ steps.measure.outputs.current }}"}
        stored = {"BASELINES": quoted(f"head/{args.baselines}")}
        lines += job(
            "baseline",
            args,
            args.baseline_runner or args.runner,
            "",
            {
                "COMMAND": args.command,
                "FOLDER": "head",
                # A pull request does not choose what it is compared with.
                "BASELINES": f"base/{args.baselines}",
                "TOLERANCES": args.tolerances and f"base/{args.tolerances}",
            },
            checkout(
                "base",
                "${{ github.event.pull_request.base.sha || github.ref }}",
            )
            + checkout(
                "head",
                "${{ github.event.pull_request.head.sha || github.ref }}",
                "${{ github.event_name == 'workflow_dispatch' }}",
            )
            + prepare(args, "head")
            + step("Measure", MEASURE, id="measure")
            + step(
                "Update the baseline",
                UPDATE,
                condition=BY_HAND,
                env={**current, **stored},
            )
            + step("Push the baseline", PUSH, condition=BY_HAND, env=stored)
            + conclude(STORED, PULL_REQUEST, current),
        )
    if args.eval:
        lines += job(
            "eval",
            args,
            args.runner,
            PULL_REQUEST if args.baselines else "",
            {"EVAL": args.eval},
            BASE
            + HEAD
            + prepare(args, "base head")
            + (
                step("Get torch", "feedrate torch")
                if "feedrate eval" in args.eval
                else []
            )
            + step("Evaluate", EVALUATE)
            + conclude(LEARNED, ""),
        )
    return "\n".join(lines) + "\n"


INPUTS = {
    "bundle": (
        "URL of a bundle or wheel of feedrate, or a name for pip",
        None,
    ),
    "sha256": ("checksum of the bundle; empty means it is not checked", ""),
    "a": ("command of the baseline, such as cd base && ./bench", ""),
    "b": ("command of the candidate, which runs alternately with a", ""),
    "metrics": ("what a duel judges", "time,memory,cpu"),
    "distrust": (
        "true does not believe the commands, which need {seed}; auto does so "
        "for pull requests of forks whose commands have it",
        "auto",
    ),
    "command": ("with baselines: what to run, printing results", ""),
    "baselines": (
        "folder of stored results to compare with, instead of a duel",
        "",
    ),
    "tolerances": ("with baselines: file of tolerances", ""),
    "update": ("true stores the results in baselines instead", "false"),
}


def action():
    lines = [
        "# Written by dev/ci_workflow.py --action; change that instead.",
        "name: feedrate",
        "description: Fails where a command got slower than its baseline",
        "inputs:",
    ]
    for name, (text, default) in INPUTS.items():
        lines += [f"  {name}:", f"    description: {json.dumps(text)}"]
        if default is None:
            lines.append("    required: true")
        else:
            lines.append(f"    default: {json.dumps(default)}")
    lines += [
        "outputs:",
        "  status:",
        "    description: exit code of compare_baseline",
        "    value: ${{ steps.compare.outputs.status }}",
        "runs:",
        "  using: composite",
        "  steps:",
    ]

    def env(*names):
        return {name.upper(): f"${{{{ inputs.{name} }}}}" for name in names}

    current = {"CURRENT": "${{ steps.measure.outputs.current }}"}
    stored = "inputs.baselines != ''"
    shown = "inputs.update != 'true'"
    compare = f'if [ -n "$BASELINES" ]; then\n{STORED}\nelse\n{PAIRED}\nfi'
    steps = (
        step("Get feedrate", FETCH, env=env("bundle", "sha256"), shell="bash")
        + step(
            "Duel",
            DUEL,
            condition="inputs.baselines == ''",
            env={**env("a", "b", "metrics", "distrust"), "FROM": FROM},
            shell="bash",
        )
        + step(
            "Measure",
            MEASURE,
            id="measure",
            condition=stored,
            env={**env("command"), "FOLDER": "."},
            shell="bash",
        )
        + step(
            "Update the baseline",
            UPDATE,
            condition="inputs.update == 'true'",
            env={**env("baselines"), **current},
            shell="bash",
        )
        + step(
            "Compare",
            f"{compare}\n{COMPARE}",
            id="compare",
            condition=shown,
            env={**env("baselines", "metrics", "tolerances"), **current},
            shell="bash",
        )
        + step(
            "Verdict",
            VERDICT,
            condition=shown,
            env={"STATUS": "${{ steps.compare.outputs.status }}"},
            shell="bash",
        )
    )
    return "\n".join(lines + indent(steps, 4)) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--action", action="store_true", help="print action.yml instead"
    )
    parser.add_argument(
        "--command",
        help="benchmark, run in the top folder of a checkout: prints rows or"
        " results of another harness, or is timed",
    )
    parser.add_argument("--bundle", help=INPUTS["bundle"][0])
    parser.add_argument("--sha256", default="", help="checksum of the bundle")
    parser.add_argument(
        "--build", default="", help="builds a checkout, in its top folder"
    )
    parser.add_argument(
        "--packages", default="", help="packages of Debian to install first"
    )
    parser.add_argument(
        "--environments",
        default="",
        help="groups of Python environments that the command needs, such as"
        ' "pillow albumentationsx" (feedrate envs)',
    )
    parser.add_argument(
        "--baselines",
        default="",
        help="folder in the project for stored results; adds the job baseline",
    )
    parser.add_argument(
        "--tolerances",
        default="",
        help="file in the project with tolerances of the job baseline; default:"
        " configs/gate/tolerances.textproto of the bundle",
    )
    parser.add_argument(
        "--eval",
        default="",
        help="writes eval.json, in the top folder of a checkout; adds the job"
        " eval",
    )
    parser.add_argument("--metrics", default="time,memory,cpu")
    parser.add_argument("--runner", default="ubuntu-24.04")
    parser.add_argument(
        "--baseline-runner",
        help="runner of the job baseline: always the same machine (--runner)",
    )
    parser.add_argument("--output", type=pathlib.Path, help="default: stdout")
    args = parser.parse_args()
    for name in ("runner", "baseline_runner"):
        label = getattr(args, name)
        if label and not re.fullmatch(r"[\w.-]+|\[[\w., -]+\]", label):
            flag = name.replace("_", "-")
            sys.exit(
                f"ci_workflow.py: --{flag}: write a label, such as"
                " ubuntu-24.04, or several: [self-hosted, gpu]"
            )
    if args.action:
        text = action()
    elif not args.command or not args.bundle:
        sys.exit(
            "ci_workflow.py: a workflow needs --command and --bundle, such as"
            " --command=./bench --bundle=https://example.org/feedrate.tar.gz"
        )
    else:
        text = workflow(args)
    if args.output is None:
        print(text, end="")
        return
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(text)
    print(f"wrote {args.output}")


if __name__ == "__main__":
    main()
