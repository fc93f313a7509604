#!/usr/bin/env python3
"""Feeds rows that an attacker wrote to every program that shows rows.

Names hold terminal escapes, line breaks, commands of CI servers, markup and
characters that XML forbids; numbers are at the ends of what JSON can say. No
program may die or hang, and no output may hold what was smuggled in: XML goes
through Expat, JSON, CSV and HTML through the parsers of Python, Markdown
through GitHub's cmark-gfm.
"""

import csv
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.parsers.expat

from hostile_rows import Maker, lines_of

ROOT = pathlib.Path.cwd()
TIMEOUT_S = 60
CMARK = shutil.which("cmark-gfm")
ROUNDS = 100 if os.environ.get("FEEDRATE_FULL") else 8


def check_text(what, raw, allowed_commands=False):
    """No control characters, no commands of CI servers, valid UTF-8."""
    text = raw.decode("utf-8")
    bad = re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", text
    )
    # What nobody sees. Records keep it.
    if not text.startswith(("{", "[")):
        bad = bad or re.search("[\u061c\u200b\ufeff\U000e0041]", text)
    if bad:
        near = text[bad.start() - 60 : bad.end() + 60]
        raise AssertionError(f"{what}: {bad.group()!r} in {near!r}")
    for line in text.split("\n"):
        if line.lstrip().startswith("::"):
            known = re.match(r"::(error|warning|notice) title=[^:]*::", line)
            assert allowed_commands and known, f"{what}: {line!r}"
        assert "##[" not in line and "##vso[" not in line, f"{what}: {line!r}"
    return text


class Html(html.parser.HTMLParser):
    """Counts elements that rows must not bring."""

    def __init__(self):
        super().__init__()
        self.scripts = 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        names = [name for name, _ in attrs]
        assert tag != "b" and not any(n.startswith("on") for n in names), tag


# What our Markdown consists of. Anything else came from a row.
TAGS = {
    "p", "h1", "h2", "h3", "h4", "ul", "li", "table", "thead", "tbody", "tr",
    "th", "td", "strong", "code", "pre", "blockquote", "details", "summary",
    "br",
}  # fmt: skip


class Markdown(html.parser.HTMLParser):
    """What GitHub's own program makes of our Markdown."""

    def __init__(self, what):
        super().__init__()
        self.what = what

    def handle_starttag(self, tag, attrs):
        place = f"{self.what}: <{tag} {attrs}> at {self.getpos()}"
        assert tag in TAGS, place
        assert all(name in ("align", "open") for name, _ in attrs), place


def check_rendered(what, text):
    if not CMARK:
        return
    rendered = subprocess.run(
        [
            *(CMARK, "--unsafe"),
            *("-e", "table", "-e", "autolink", "-e", "strikethrough"),
            *("-e", "tasklist"),
        ],
        input=text.encode(),
        capture_output=True,
        check=True,
        timeout=TIMEOUT_S,
    ).stdout.decode()
    Markdown(what).feed(rendered)


def check_markdown(what, text):
    check_rendered(what, text)
    columns = None
    fence = None
    for line in text.split("\n"):
        if fence or line.startswith("```"):
            if fence is None:
                fence = line
            elif line == fence:
                fence = None
            continue
        stripped = re.sub(r"\\.", "-", re.sub(r"(`+).*?\1", "-", line))
        rest = re.sub("</?(details|summary)>", "", stripped)
        assert not re.search("<[a-zA-Z/!?]", rest), f"{what}: {line!r}"
        if line.startswith("|"):
            bars = re.sub(r"\\.", "", line).count("|")
            assert columns in (None, bars), f"{what}: {line!r}"
            columns = bars
        else:
            columns = None
    assert fence is None, f"{what}: a fence is open"


class Runner:
    """Runs programs in a folder and checks what they print."""

    def __init__(self, folder):
        self.folder = folder
        # A sanitizer's own exit code would pass for "bad input".
        self.env = dict(
            os.environ,
            FEEDRATE_CONFIGS=str(ROOT / "configs"),
            ASAN_OPTIONS="exitcode=99",
            UBSAN_OPTIONS="exitcode=99",
        )

    def run(self, tool, *args):
        return self.start(tool, *args)[:2]

    def start(self, tool, *args):
        what = f"{tool} {' '.join(args)}"
        done = subprocess.run(
            [ROOT / "tools" / tool / tool, *args],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert 0 <= done.returncode <= 5, (
            f"{what}: {done.returncode}: {done.stderr}"
        )
        check_text(f"{what}: stderr", done.stderr)
        assert done.stderr.count(b"\n") < 60, (
            f"{what}: too many lines: {done.stderr}"
        )
        return what, done.stdout, done.returncode

    def aggregate(self):
        by = "--by=library,transform,machine_profile"
        mix = (
            "--mix=batch_size,params_profile,cold,exploratory,library_version,"
            "dataset,pair.side,scenario,mode,scope,device,workers,"
            "thread_policy,settings"
        )
        where = '--where=unit=="kornia" || unit==""'
        printed = 0
        for extra in (
            [],
            ["--pivot=library"],
            ["--relative_to=kornia", "--any_work"],
        ):
            for name in ("table", "markdown", "csv", "latex", "json", "jsonl"):
                what, out = self.run(
                    "aggregate",
                    "rows.jsonl",
                    by,
                    mix,
                    where,
                    f"--format={name}",
                    *extra,
                )
                text = check_text(what, out)
                printed += len(text)
                if name == "markdown":
                    check_markdown(what, text)
                if name == "csv" and text:
                    widths = {
                        len(row)
                        for row in csv.reader(text.rstrip("\n").split("\n"))
                    }
                    assert len(widths) == 1, f"{what}: {widths}"
                if name == "jsonl":
                    for line in filter(None, text.split("\n")):
                        json.loads(line)
        assert printed > 0, "no aggregate was printed"

    def report(self):
        what, out = self.run(
            "report", "rows.jsonl", "verdicts.jsonl", "odd_verdicts.jsonl",
            "--output=-",
        )  # fmt: skip
        page = Html()
        page.feed(check_text(what, out.replace(b"\t", b" ")))
        assert page.scripts == 1, f"{what}: {page.scripts} scripts"
        what, out = self.run(
            "report", "rows.jsonl", "verdicts.jsonl", "--format=markdown"
        )
        check_markdown(what, check_text(what, out))
        self.run("report", "rows.jsonl", "verdicts.jsonl", "--svg=figures")
        figures = list((self.folder / "figures").glob("*.svg"))
        assert figures, "no figures"
        for figure in figures:
            raw = figure.read_bytes()
            check_text(figure.name, raw)
            xml.parsers.expat.ParserCreate().Parse(raw, True)
            assert not re.search(rb'"(nan|inf|-nan|-inf)', raw), figure.name
        summary = self.folder / "figures" / "mixture_summary.txt"
        if summary.exists():
            check_text("mixture_summary.txt", summary.read_bytes())

    def compare(self, current):
        for name in ("text", "markdown", "github", "junit", "sarif", "jsonl"):
            args = [f"--current={current}", f"--format={name}", "--limit=0"]
            if current == "rows.jsonl":
                args.append("--baselines=baselines")
            what, out = self.run("compare_baseline", *args)
            text = check_text(what, out, name == "github")
            if name == "markdown":
                check_markdown(what, text)
            if name == "junit" and text:
                xml.parsers.expat.ParserCreate().Parse(text.encode(), True)
            if name == "sarif" and text:
                json.loads(text)
        what, out = self.run(
            "compare_baseline", f"--current={current}", "--explain=*"
        )
        check_text(what, out)

    def history(self):
        what, out = self.run(
            "report", "--history=history.jsonl", "--output=-",
            "--commit-url=https://example.org/{commit}",
        )  # fmt: skip
        page = Html()
        page.feed(check_text(what, out.replace(b"\t", b" ")))
        assert page.scripts == 1, f"{what}: {page.scripts} scripts"
        what, out = self.run(
            "compare_baseline", "--history=history.jsonl", "--format=text"
        )
        check_text(what, out)

    def imported(self, name):
        for form in ("table", "markdown", "csv", "latex", "jsonl"):
            what, out = self.run("aggregate", name, f"--format={form}")
            text = check_text(what, out)
            if form == "markdown":
                check_markdown(what, text)
        for form in ("text", "markdown", "github", "junit", "jsonl"):
            what, out = self.run(
                "compare_baseline", f"--current={name}", f"--baseline={name}",
                f"--format={form}",
            )  # fmt: skip
            text = check_text(what, out, form == "github")
            if form == "junit" and text:
                xml.parsers.expat.ParserCreate().Parse(text.encode(), True)

    def everything(self):
        self.aggregate()
        self.report()
        for current in ("pairs.jsonl", "verdicts.jsonl", "rows.jsonl"):
            self.compare(current)
        self.history()
        for name in ("google.json", "hyperfine.json", "table.csv"):
            self.imported(name)
        what, out = self.run(
            "check_coverage", "--coverage=ram-reduced", "rows.jsonl"
        )
        check_text(what, out)


def row_of(**fields):
    return {
        "schema": 1, "record": "row", "job_id": "a", "library": "kornia",
        "mode": "micro", "device": "cpu", "status": "ok", "elapsed_s": 1,
        "items": 100, "throughput": 100, "machine_profile": "m", **fields,
    }  # fmt: skip


def write(path, lines):
    texts = [
        line
        if isinstance(line, str)
        else json.dumps(line, separators=(",", ":"))
        for line in lines
    ]
    path.write_text("\n".join(texts) + "\n")


def decides(folder):
    """What a benchmark prints must not turn "slower" into something else."""
    old = [row_of(run_index=i, throughput=100 + i / 10) for i in range(7)]
    new = [row_of(run_index=i, throughput=50 + i / 10) for i in range(7)]
    pairs = [
        row_of(pair={"index": i, "side": side, "position": i % 2},
               samples_s=[0.01 if side == "a" else 0.02], run_index=i)
        for i in range(30) for side in "ab"
    ]  # fmt: skip
    same = {
        "schema": 1, "record": "verdict", "scope": "job", "job_id": "a",
        "job": "kornia", "verdict": "same",
    }  # fmt: skip
    undecided = {**same, "verdict": "cannot_tell"}
    suite = {
        "schema": 1, "record": "verdict", "scope": "suite",
        "verdict": "same", "counts": {"compared": 1, "cannot_tell": 1},
    }  # fmt: skip
    more_a = [
        row_of(pair={"index": i, "side": "A"}, samples_s=[0.04])
        for i in range(30)
    ]
    go = ["goos: linux", "BenchmarkX-2 100 5 ns/op"]
    stored = ["--baseline=old.jsonl", "--require-all"]
    write(folder / "old.jsonl", old)
    cases = [
        (new, stored, 3),
        ([*new, same], stored, 1),
        ([same], stored, 1),
        ([{**same, "verdict": "Slower"}], [], 1),
        ([undecided, {**suite, "exit_code": 256}], [], 1),
        ([undecided, {**suite, "exit_code": 77}], [], 1),
        ([*go, *new], stored, 1),
        (pairs, ["--paired"], 3),
        ([*pairs, same], ["--paired"], 1),
        ([same], ["--paired"], 1),
        ([*pairs, *more_a], ["--paired"], 1),
    ]
    for number, (lines, flags, code) in enumerate(cases):
        name = f"case{number}.jsonl"
        write(folder / name, lines)
        what, _, status = Runner(folder).start(
            "compare_baseline", f"--current={name}", *flags
        )
        assert status == code, f"{what}: exit {status}, want {code}: {lines}"


def main():
    with tempfile.TemporaryDirectory() as name:
        decides(pathlib.Path(name))
    for seed in range(ROUNDS):
        maker = Maker(seed)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "baselines").mkdir()
            rows = [maker.row(paired=False) for _ in range(40)]
            # Sweeps, so that there are figures.
            for i, row in enumerate(rows[:20]):
                row |= {
                    "library": rows[i % 3]["library"],
                    "scenario": rows[0]["scenario"],
                    "mode": rows[0]["mode"], "scope": "", "device": "cpu",
                    "transform": rows[i % 2]["transform"], "status": "ok",
                    "machine_profile": "m", "dataset": {}, "labels": [],
                    "params_profile": "", "env_set": "", "thread_policy": "",
                    "library_version": "1", "unit": "kornia",
                    "settings": {"swept/it": str(1 + i % 5)},
                }  # fmt: skip
            records = [*rows, *maker.others(paired=False)]
            broken = [
                b"{",
                b"\xff\xfe",
                b'{"schema":1,"record":"row","library":"\xc3"}',
            ]
            broken += [b"[" * 100000, b"\x1b[31m"] * 20
            lines = [*lines_of(records), *broken]
            (folder / "rows.jsonl").write_bytes(b"\n".join(lines) + b"\n")
            pairs = [maker.row(paired=True) for _ in range(60)]
            pairs += [*maker.others(paired=True), maker.profile()]
            (folder / "pairs.jsonl").write_bytes(
                b"\n".join(lines_of(pairs)) + b"\n"
            )
            verdicts = [maker.verdict() for _ in range(30)]
            verdicts.append(maker.profile())
            (folder / "verdicts.jsonl").write_bytes(
                b"\n".join(lines_of(verdicts)) + b"\n"
            )
            odd = [maker.verdict(maker.text()) for _ in range(3)]
            (folder / "odd_verdicts.jsonl").write_bytes(
                b"\n".join(lines_of(odd)) + b"\n"
            )
            (folder / "history.jsonl").write_bytes(
                b"\n".join(lines_of(maker.history())) + b"\n"
            )
            for file, text in maker.imported():
                (folder / file).write_bytes(
                    text.encode("utf-8", "surrogatepass")
                )
            try:
                Runner(folder).everything()
            except Exception:
                print(f"seed {seed}", file=sys.stderr)
                raise
    if not CMARK:
        print("SKIPPED: Markdown was not rendered; apt-get install cmark-gfm")
    print(f"{ROUNDS} rounds")


if __name__ == "__main__":
    main()
