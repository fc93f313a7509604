#!/usr/bin/env python3
"""Writes a GitHub Actions workflow that gates pull requests on performance.

    make ci-workflow            writes .github/workflows/performance.yml
    dev/ci_workflow.py          prints it

The workflow builds the base and the head of a pull request side by side, runs
the same command of both alternately with `duel`, compares them, annotates the
log, and posts the Markdown as one comment that later runs replace. It fails
when something got slower (exit 3) or a side crashed (2); "cannot tell" (4)
warns.
"""

import argparse
import pathlib

WORKFLOW = """\
# Written by `make ci-workflow`; change dev/ci_workflow.py instead.
name: performance
on:
  pull_request:
    branches: [main]
permissions:
  contents: read
  pull-requests: write
concurrency:
  group: performance-${{{{ github.ref }}}}
  cancel-in-progress: true
jobs:
  duel:
    runs-on: {runner}
    timeout-minutes: 120
    steps:
      - name: Check out the base
        uses: actions/checkout@v4
        with:
          ref: ${{{{ github.event.pull_request.base.sha }}}}
          path: base
      - name: Check out the head
        uses: actions/checkout@v4
        with:
          ref: ${{{{ github.event.pull_request.head.sha }}}}
          path: head
      - name: Build both
        run: |
          for side in base head; do
            make -C "$side" setup
            (cd "$side" && dev/bazel.sh build {targets})
          done
          (cd head && dev/bazel.sh build //tools/duel //tools/compare_baseline)
      - name: Duel
        run: |
          status=0
          head/bazel-bin/tools/duel/duel \\
            --a='cd base && {command}' \\
            --b='cd head && {command}' \\
            >rows.jsonl || status=$?
          # A side that crashed is in the rows; compare_baseline says so.
          test "$status" -eq 0 -o "$status" -eq 2
      - name: Compare
        id: compare
        run: |
          compare() {{
            head/bazel-bin/tools/compare_baseline/compare_baseline \\
              --configs=head/configs "$@"
          }}
          status=0
          compare --paired --current=rows.jsonl >verdicts.jsonl || status=$?
          for format in markdown junit sarif github; do
            compare --current=verdicts.jsonl --format="$format" \\
              --output="verdicts.$format" || true
          done
          cat verdicts.github
          cat verdicts.markdown >>"$GITHUB_STEP_SUMMARY"
          echo "status=$status" >>"$GITHUB_OUTPUT"
      - name: Keep the results
        if: always()
        uses: actions/upload-artifact@v4
        with:
          name: performance
          path: |
            rows.jsonl
            verdicts.*
      - name: Comment
        if: github.event.pull_request.head.repo.full_name == github.repository
        env:
          GH_TOKEN: ${{{{ github.token }}}}
          NUMBER: ${{{{ github.event.pull_request.number }}}}
        run: |
          gh pr comment "$NUMBER" --repo "$GITHUB_REPOSITORY" \\
            --body-file verdicts.markdown --edit-last ||
            gh pr comment "$NUMBER" --repo "$GITHUB_REPOSITORY" \\
              --body-file verdicts.markdown
      - name: Verdict
        env:
          STATUS: ${{{{ steps.compare.outputs.status }}}}
        run: |
          # 0 nothing got slower, 4 cannot tell; 2 crashed, 3 slower, 5 nothing
          # was comparable.
          test "$STATUS" = 0 -o "$STATUS" = 4
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runner", default="ubuntu-24.04")
    parser.add_argument(
        "--targets", default="//tools/...", help="what to build on both sides"
    )
    parser.add_argument(
        "--command",
        default="bazel-bin/tools/micro/micro --config=configs/demo.textproto",
        help="what to run in both checkouts; prints rows, or is timed",
    )
    parser.add_argument("--output", type=pathlib.Path)
    args = parser.parse_args()
    text = WORKFLOW.format(
        runner=args.runner,
        targets=args.targets,
        command=args.command.replace("'", "'\\''"),
    )
    if args.output is None:
        print(text, end="")
        return
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(text)
    print(f"wrote {args.output}")


if __name__ == "__main__":
    main()
