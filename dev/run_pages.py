#!/usr/bin/env python3
"""Runs the commands that pages print, page by page and in order.

    dev/run_pages.py --list
    dev/run_pages.py --fixtures=FOLDER --with=minutes docs/micro.md

A command is a line of a block for the shell (```sh), or of an indented block
that begins with a command; if lines begin with "$ ", only those. Each page gets
a copy of the folder of fixtures, and a shell of its own. Exit codes 0, 3 and 4
are answers; any other is a failure. A comment before a block says what it
needs:

    <!-- run: minutes -->         runs only with --with=minutes; or another kind
    <!-- run: by dev/checks/x.sh -->      that check follows the page
    <!-- run: never, why -->

Absolute folders of pages, such as /data, are folders of the copy.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

import check_pages

KINDS = {
    "minutes": "takes minutes",
    "torch": "needs libtorch (make torch) and minutes",
    "envs": "needs environments of gigabytes",
    "gpu": "needs a GPU",
    "cloud": "needs an account of a cloud, or a cluster",
    "root": "installs packages",
}
MARK = re.compile(r"<!-- run: (.*?) -->")
# How a command begins; PROGRAM stands for ours. A loop that ends with a colon
# is Python's.
FIRST = r"""(\$\ )?(\w+=\S*\ +)*(
    make|bazel|pip|git|export|cd|tar|srun|curl|cat|apt-get|python3?|mkdir
    |for\ \w+\ in(?!.*:$)|\w+=\S*|PROGRAM
    |(dev|tools|lib|bin|cloud|\$\w+|<environment>|\.)/\S+|\S*feedrate
    )(?=\s+[^=]|$)"""
ABSOLUTE = re.compile(r"(?<![\w.$\"}/])/(?=(?:data|datasets|mnt|nfs|tmp)/)")
# A script of the checkout, where a command may begin.
SCRIPT = re.compile(r"(^|[\s(])(?=(?:dev|lib|tools)/[\w/]+\.(?:sh|py)\b)")


class Block:
    def __init__(self, page, line, text, mark):
        self.page, self.line, self.text, self.mark = page, line, text, mark


def blocks(page, text, programs):
    """The blocks of commands of a page."""
    first = re.compile(FIRST.replace("PROGRAM", "|".join(programs)), re.VERBOSE)
    lines = text.split("\n") + [""]
    i, mark, found = 0, None, []
    while i < len(lines):
        line = lines[i]
        fence = re.match(r"( *)```(\w*)", line)
        if MARK.fullmatch(line.strip()):
            mark = MARK.fullmatch(line.strip())[1]
            i += 1
        elif fence:
            end = next(
                j for j in range(i + 1, len(lines)) if lines[j].strip() == "```"
            )
            if fence[2] in ("sh", "bash"):
                body = [one[len(fence[1]) :] for one in lines[i + 1 : end]]
                found.append(Block(page, i + 2, body, mark))
            i, mark = end + 1, None
        elif re.match(r" {4}\S", line) and not lines[i - 1].strip():
            end = i
            while end < len(lines) and re.match(r" {4}|$", lines[end]):
                end += 1
            body = [one[4:] for one in lines[i:end]]
            if first.match(body[0]) and "──" not in body[0]:
                found.append(Block(page, i + 1, body, mark))
            i, mark = end, None
        else:
            mark = mark if not line.strip() else None
            i += 1
    return found


def statements(block):
    """Pairs of a line number and what the shell reads at once."""
    lines = list(enumerate(block.text, block.line))
    if any(text.startswith("$ ") for _, text in lines):
        # A command goes on after a backslash, and to the end of its document.
        kept, goes_on, end = [], False, None
        for number, text in lines:
            if text.startswith("$ ") or goes_on:
                kept.append((number, text.removeprefix("$ ")))
                document = re.search(r"<<'(\w+)'", text)
                end = document[1] if document else None if text == end else end
                goes_on = text.endswith("\\") or end is not None
        lines = kept
    whole = []
    for number, text in lines:
        if not whole and not text.strip():
            continue
        whole.append((number, text))
        code = "\n".join(one for _, one in whole)
        parsed = subprocess.run(
            ["bash", "-n"], input=code, capture_output=True, text=True
        )
        if parsed.returncode == 0 and not parsed.stderr and text[-1:] != "\\":
            yield whole[0][0], code
            whole = []
    if whole:
        sys.exit(f"{block.page}:{whole[0][0]}: the shell cannot read this")


def runs(block, kinds):
    """Whether it runs; else why not."""
    mark = block.mark or ""
    if mark.startswith("by "):
        check = check_pages.ROOT / mark[3:]
        name = pathlib.Path(block.page).name
        if not check.is_file() or name not in check.read_text():
            sys.exit(
                f"{block.page}:{block.line}: {mark[3:]} does not follow it"
            )
        return mark
    if mark.startswith("never, "):
        return mark
    wanted = [kind.strip() for kind in mark.split(",") if kind.strip()]
    for kind in wanted:
        if kind not in KINDS:
            sys.exit(
                f"{block.page}:{block.line}: nothing is known of a block that "
                f'needs "{kind}"; use {", ".join(KINDS)}, by or never'
            )
    return ", ".join(KINDS[k] for k in wanted if k not in kinds)


def run_page(page, chosen, fixtures):
    """The failures of a page, each a line."""
    folder = fixtures.parent / page.replace("/", "_").removesuffix(".md")
    shutil.copytree(fixtures, folder, symlinks=True)
    script = ['set -o pipefail; cd "$1"; source "$2"']
    texts = {}
    for block in chosen:
        for number, code in statements(block):
            file = folder.parent / f"{folder.name}.{number}"
            code_here = ABSOLUTE.sub(f"{folder}/", code)
            code_here = SCRIPT.sub(rf"\1{check_pages.ROOT}/", code_here)
            file.write_text(code_here + "\n")
            texts[number] = code
            script.append(
                f"echo '@@ {number}' >&2; source '{file}' </dev/null; "
                f'echo "@@ {number} $?" >&2'
            )
    log = folder.parent / f"{folder.name}.log"
    start = time.monotonic()
    with open(log, "w") as out:
        subprocess.run(
            ["timeout", "3000", "bash", "-c", "\n".join(script), "page"]
            + [str(folder), str(fixtures.parent / "prelude.sh")],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    output = log.read_text(errors="replace")
    failures = []
    for number, code in texts.items():
        ended = re.search(
            rf"^@@ {number}\n((?s:.*?))^@@ {number} (\d+)$", output, re.M
        )
        if ended is None or ended[2] not in ("0", "3", "4"):
            said = (
                ended[1].strip().splitlines()[-4:] if ended else ["did not end"]
            )
            failures.append(
                f"{page}:{number}: exit {ended[2] if ended else '?'}: "
                + code.splitlines()[0]
                + "".join(f"\n    {line[:300]}" for line in said)
            )
    print(
        f"{page}: {len(texts)} commands, {len(failures)} failed, "
        f"{time.monotonic() - start:.0f} s",
        flush=True,
    )
    shutil.rmtree(folder)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--fixtures", type=pathlib.Path)
    parser.add_argument("--with", dest="kinds", default="")
    parser.add_argument("pages", nargs="*")
    flags = parser.parse_args()
    tree = check_pages.Tree(check_pages.ROOT)
    failures = []
    for page in flags.pages or tree.pages:
        text = (check_pages.ROOT / page).read_text()
        chosen = []
        for block in blocks(page, text, tree.program_flags):
            why = runs(block, flags.kinds.split(","))
            if not why:
                chosen.append(block)
            if flags.list or why:
                print(f"{page}:{block.line}: {why or 'runs'}: {block.text[0]}")
        if chosen and not flags.list:
            failures += run_page(page, chosen, flags.fixtures.absolute())
    print(*failures, sep="\n", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
