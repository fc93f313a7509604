#!/usr/bin/env python3
"""Opens a report in headless Chromium: nothing may complain or overflow.

Speaks the DevTools protocol over a pipe, so nothing but Chromium is needed.
Without Chromium it skips and says so. FEEDRATE_SCREENSHOTS=FOLDER keeps
pictures.
"""

import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOL = "tools/report/report"
ROWS = "lib/analysis/testing/rows.jsonl"
EARLIER = "lib/analysis/testing/earlier.jsonl"
TARGETS = "configs/gate/targets.textproto"

# What the page says about itself, in one question.
PROBE = """
(() => {
  const visible = (e) => e.getClientRects().length > 0;
  const all = (s) => Array.from(document.querySelectorAll(s));
  const wide = all("body *").filter((e) =>
    visible(e) && !e.closest(".scroll, nav, pre") &&
    e.id !== "tip" && e.getBoundingClientRect().right > innerWidth + 1);
  const table = document.querySelector(".table[data-filter] table");
  const heading = table.querySelector("thead th.n button");
  const rows = () => Array.from(table.tBodies[0].rows)
    .map((e) => e.textContent).join("|");
  const orders = [rows()];
  for (let i = 0; i < 2; ++i) {
    heading.click();
    orders.push(rows());
  }
  const field = document.querySelector(".filter");
  field.value = "pillow";
  field.dispatchEvent(new Event("input"));
  const holder = field.closest(".table");
  const shown = Array.from(holder.querySelectorAll("tbody tr"))
    .filter(visible).map((e) => e.textContent);
  // Labels: whole, and inside their figure. Numbers in cells may be cut.
  const texts = all("figure svg text").filter(visible);
  const cut = texts.filter((e) =>
    e.textContent.includes("\u2026") && !e.closest(".cell"));
  const outside = texts.filter((e) => {
    const box = e.getBoundingClientRect();
    const svg = e.ownerSVGElement.getBoundingClientRect();
    return box.left < svg.left - 2 || box.right > svg.right + 2;
  });
  // Tables that are wider than their box scroll, and their first column stays.
  const scrolled = all(".table > .scroll").filter((e) =>
    e.scrollWidth > e.clientWidth + 1);
  const loose = scrolled.filter((e) => {
    const cell = e.querySelector("tbody th");
    const left = cell.getBoundingClientRect().left;
    e.scrollLeft = 200;
    const moved = cell.getBoundingClientRect().left - left;
    e.scrollLeft = 0;
    return Math.abs(moved) > 1 && e.querySelectorAll("thead th").length > 3;
  });
  const letters = all("tbody th").filter((e) => visible(e) &&
    e.textContent.length > 3 && e.getBoundingClientRect().width < 40);
  const links = all("nav a").map((e) => e.textContent);
  const toggle = document.querySelector(".log input");
  const box = () => Array.from(toggle.closest("figure")
    .querySelectorAll(".drawing")).filter(visible).map((e) => e.className);
  const drawn = box();
  toggle.click();
  const logarithmic = box();
  const theme = document.documentElement.dataset.theme;
  document.getElementById("theme").click();
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    wide: wide.map((e) => e.tagName + "." + e.className).slice(0, 5),
    figures: all("figure").length,
    drawn_figures: all("figure").filter((f) =>
      Array.from(f.querySelectorAll("svg")).filter(visible).length === 1)
      .length,
    orders: new Set(orders).size,
    filtered: shown.length > 0 && shown.every((t) => t.includes("pillow")),
    drawn: drawn, logarithmic: logarithmic,
    changes: all("#history .ref").filter(visible).length,
    theme_changes: theme !== document.documentElement.dataset.theme,
    tips: all("[data-tip]").length,
    cut: cut.map((e) => e.textContent).slice(0, 5),
    outside: outside.map((e) => e.textContent).slice(0, 5),
    scrolled: scrolled.length,
    loose: loose.length,
    letters: letters.map((e) => e.textContent).slice(0, 5),
    twice: links.filter((e, i) => links.indexOf(e) !== i),
    unmeasured: all("td.muted").filter((e) =>
      e.textContent === "not measured").length,
    bare: all("td").filter((e) => e.textContent.trim() === "\u2013").length,
    // What axe-core calls button-name, empty-table-header, aria-allowed-attr.
    nameless: all("button, thead th").filter((e) =>
      !e.textContent.trim() && !e.getAttribute("aria-label")).length,
    labeled_groups: all("g[aria-label]").length,
  };
})()
"""

# The same of a page with a history and a profile, used like a person would.
HISTORY_PROBE = """
(() => {
  const all = (s) => Array.from(document.querySelectorAll(s));
  const visible = (e) => e.getClientRects().length > 0;
  const wide = all("body *").filter((e) =>
    visible(e) && !e.closest(".scroll, nav, pre") &&
    e.id !== "tip" && e.getBoundingClientRect().right > innerWidth + 1);
  const svg = document.querySelector(".explorer svg");
  const says = document.querySelector(".explorer p");
  const title = document.querySelector(".explorer strong");
  const dots = () => svg.querySelectorAll("circle").length;
  const point = (type, share) => {
    const box = svg.getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent(type, {
      clientX: box.left + share * box.width, clientY: box.top + 50,
      bubbles: true, pointerType: "touch"}));
  };
  const first = title.textContent;
  const marks = svg.querySelectorAll(".ref").length;
  const before = dots();
  point("pointermove", 0.99);
  const told = says.textContent;
  const link = says.querySelector("a").href;
  point("pointerdown", 0.5);
  point("pointerup", 0.99);
  const zoomed = dots();
  document.querySelector(".explorer button").click();
  const after = dots();
  const rows = all("tr").filter((e) => e.querySelector(".spark"));
  rows[rows.length - 1].click();
  const second = title.textContent;
  const field = document.querySelector(".explorer")
    .closest(".table").querySelector(".filter");
  field.value = "job11";
  field.dispatchEvent(new Event("input"));
  const shown = rows.filter(visible).length;
  field.value = "";
  field.dispatchEvent(new Event("input"));
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    wide: wide.map((e) => e.tagName + "." + e.className).slice(0, 5),
    first, second, before, zoomed, after, marks, told, link, shown,
    sparks: rows.length,
    links: all("#history td a").map((e) => e.href),
    flames: all("#flame-graph .cell").filter(visible).length,
    flame_text: all("#flame-graph text").filter(visible)
      .map((e) => e.textContent),
  };
})()
"""


class Browser:
    def __init__(self, chromium, profile):
        to_child, self.commands = os.pipe()
        self.answers, from_child = os.pipe()

        # Chromium reads from 3 and writes to 4; our ends may be in their place.
        reader = fcntl.fcntl(to_child, fcntl.F_DUPFD, 10)
        writer = fcntl.fcntl(from_child, fcntl.F_DUPFD, 10)

        def prepare():
            os.dup2(reader, 3)
            os.dup2(writer, 4)

        self.process = subprocess.Popen(
            [
                chromium,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                f"--user-data-dir={profile}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            close_fds=False,
            preexec_fn=prepare,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_child, from_child, reader, writer):
            os.close(end)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None

    def read(self):
        while b"\0" not in self.buffer:
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("Chromium is gone")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self.read()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.read())

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")
        attached = self.call(
            "Target.attachToTarget", flatten=True, targetId=target["targetId"]
        )
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, url, width, scripts):
        self.events.clear()
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def complaints(self):
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            if event.get("method") == "Runtime.consoleAPICalled":
                found.append(str(params["args"]))
            if event.get("method") == "Log.entryAdded":
                found.append(params["entry"]["text"])
        return found

    def requests(self):
        urls = [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith("data:")]

    def screenshot(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        data = self.call(
            "Page.captureScreenshot",
            captureBeyondViewport=True,
            clip={
                "x": 0,
                "y": 0,
                "width": size["width"],
                "height": min(size["height"], 16000),
                "scale": 1,
            },
        )
        path.write_bytes(base64.b64decode(data["data"]))


def check(browser, page, width, theme, failures):
    name = f"{width}-{theme}"
    url = f"file://{page}?theme={theme}"
    browser.open(url, width, scripts=True)
    folder = os.environ.get("FEEDRATE_SCREENSHOTS")
    if folder:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        browser.screenshot(pathlib.Path(folder) / f"report-{name}.png")
    answer = browser.call(
        "Runtime.evaluate", expression=PROBE, returnByValue=True
    )
    if "exceptionDetails" in answer:
        failures.append(f"{name}: {answer['exceptionDetails']}")
        return
    found = answer["result"]["value"]
    complaints = browser.complaints()

    def expect(truth, what):
        if not truth:
            failures.append(f"{name}: {what}")

    expect(not complaints, f"the console says {complaints}")
    expect(browser.requests() in ([url], []), f"asks for {browser.requests()}")
    expect(found["overflow"] <= 0, f"overflows by {found['overflow']} px")
    expect(not found["wide"], f"too wide: {found['wide']}")
    expect(found["figures"] >= 12, f"only {found['figures']} figures")
    expect(
        found["figures"] == found["drawn_figures"],
        f"{found['drawn_figures']} of {found['figures']} figures are drawn",
    )
    expect(found["orders"] == 3, "the table does not sort both ways")
    expect(found["filtered"], "the filter does not filter")
    expect(found["drawn"] != found["logarithmic"], "no logarithmic scale")
    expect(found["theme_changes"], "light and dark do not switch")
    # In the large plot and in the figure.
    expect(found["changes"] == 2, f"{found['changes']} changes in the history")
    expect(found["tips"] > 100, f"only {found['tips']} tips")
    expect(not found["cut"], f"labels are cut: {found['cut']}")
    expect(not found["outside"], f"labels stick out: {found['outside']}")
    expect(width > 500 or found["scrolled"] > 0, "no table scrolls")
    expect(found["loose"] == 0, f"{found['loose']} first columns scroll away")
    expect(not found["letters"], f"names in letters: {found['letters']}")
    expect(not found["twice"], f"twice in the contents: {found['twice']}")
    expect(found["unmeasured"] > 0, "no cell says that it was not measured")
    expect(found["nameless"] == 0, f"{found['nameless']} without a name")
    expect(found["labeled_groups"] == 0, "a label on a group without a role")
    expect(found["bare"] == 0, f"{found['bare']} cells are only a dash")


def check_history(browser, page, width, theme, failures):
    name = f"history {width}-{theme}"
    browser.open(f"file://{page}?theme={theme}", width, scripts=True)
    answer = browser.call(
        "Runtime.evaluate", expression=HISTORY_PROBE, returnByValue=True
    )
    if "exceptionDetails" in answer:
        failures.append(f"{name}: {answer['exceptionDetails']}")
        return
    folder = os.environ.get("FEEDRATE_SCREENSHOTS")
    if folder:
        browser.screenshot(
            pathlib.Path(folder) / f"history-{width}-{theme}.png"
        )
    found = answer["result"]["value"]

    def expect(truth, what):
        if not truth:
            failures.append(f"{name}: {what}")

    expect(not browser.complaints(), f"console: {browser.complaints()}")
    expect(found["overflow"] <= 0, f"overflows by {found['overflow']} px")
    expect(not found["wide"], f"too wide: {found['wide']}")
    expect(found["sparks"] == 12, f"{found['sparks']} lines")
    expect("job3" in found["first"], f"the first is {found['first']}")
    expect(found["marks"] == 1, f"{found['marks']} changes in the plot")
    expect(found["before"] == 60, f"{found['before']} points")
    expect(10 < found["zoomed"] < 40, f"zoomed to {found['zoomed']} points")
    expect(found["after"] == 60, "cannot zoom out")
    expect(found["second"] != found["first"], "rows cannot be chosen")
    expect(found["told"].startswith(f"{59:040x}"[:10]), f"says {found['told']}")
    expect(found["link"] == f"https://example.org/c/{59:040x}", found["link"])
    expect(found["shown"] == 1, f"{found['shown']} rows after filtering")
    expect(f"https://example.org/c/{40:040x}" in found["links"], "no links")
    expect(found["flames"] == 4, f"{found['flames']} frames")
    expect("slow_function" in found["flame_text"], found["flame_text"])


def check_without_scripts(browser, page, failures):
    browser.open(f"file://{page}", 1440, scripts=False)
    tree = browser.call("DOM.getDocument", depth=0)["root"]["nodeId"]
    for selector in ("table tbody tr", "figure svg", "section h2"):
        found = browser.call(
            "DOM.querySelectorAll", nodeId=tree, selector=selector
        )["nodeIds"]
        if len(found) < 5:
            failures.append(f"without scripts: {len(found)} {selector}")


def history(folder):
    """Rows of 30 revisions, the last ten of them 20% slower."""
    first = next(
        json.loads(line)
        for line in pathlib.Path(ROWS).read_text().splitlines()
        if '"record":"row"' in line.replace(" ", "")
    )
    path = folder / "history.jsonl"
    with open(path, "w") as out:
        for i in range(30):
            env = {"schema": 1, "record": "env", "git": {"revision": f"r{i}"}}
            time_s = (1.2 if i >= 20 else 1) * (1 + 0.002 * (i * 7 % 5))
            row = {**first, "elapsed_s": time_s, "items": 1}
            row.update(status="ok", throughput=1 / time_s, samples_s=[])
            row.pop("started_at", None)
            for record in (env, row):
                out.write(json.dumps(record, separators=(",", ":")) + "\n")
    return path


def long_history(folder):
    """Twelve jobs over 60 commits; job3 is 8% slower from the 40th on."""
    first = next(
        json.loads(line)
        for line in pathlib.Path(ROWS).read_text().splitlines()
        if '"record":"row"' in line.replace(" ", "")
    )
    path = folder / "long_history.jsonl"
    with open(path, "w") as out:
        for i in range(60):
            revision = f"{i:040x}"
            env = {"schema": 1, "record": "env", "git": {"revision": revision}}
            out.write(json.dumps(env, separators=(",", ":")) + "\n")
            for job in range(12):
                noise = 0.01 * ((i * 7919 + job * 104729) % 101 / 101 - 0.5)
                step = 1.08 if job == 3 and i >= 40 else 1
                time_s = 0.002 * (1 + job) * step * (1 + noise)
                row = {**first, "elapsed_s": time_s, "items": 1}
                row.update(job_id=f"{job:016x}", transform=f"job{job}")
                row.update(status="ok", throughput=1 / time_s, samples_s=[])
                row.update(
                    started_at=f"2026-01-01T{i // 60:02}:{i % 60:02}:00Z"
                )
                out.write(json.dumps(row, separators=(",", ":")) + "\n")
    return path


def profile(folder):
    """A profile with four frames, one of which got slower."""
    frames = [
        {"parent": -1, "name": "all", "a_s": 0.1, "b_s": 0.13},
        {"parent": 0, "name": "main", "a_s": 0.1, "b_s": 0.13},
        {"parent": 1, "name": "slow_function", "a_s": 0.05, "b_s": 0.09},
        {"parent": 1, "name": "faster", "a_s": 0.05, "b_s": 0.04},
    ]
    part = {"name": "slow_function", "a_s": 0.05, "b_s": 0.09}
    part.update(change_s=0.04, low_s=0.038, high_s=0.042, share_percent=133)
    part.update(share_low_percent=120, share_high_percent=150)
    record = {"schema": 1, "record": "profile", "profiler": "perf"}
    record.update(pairs=10, a_s=0.1, b_s=0.13, parts=[part], frames=frames)
    path = folder / "profile.jsonl"
    path.write_text(json.dumps(record, separators=(",", ":")) + "\n")
    return path


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        print("SKIPPED: no chromium here; apt-get install chromium")
        return 0
    folder = pathlib.Path(os.environ.get("TEST_TMPDIR", tempfile.mkdtemp()))
    page = folder / "report.html"
    made = subprocess.run(
        [
            TOOL,
            ROWS,
            f"--baseline={EARLIER}",
            f"--history={history(folder)}",
            f"--targets={TARGETS}",
            f"--output={page}",
        ],
        stdout=subprocess.DEVNULL,
    )
    if made.returncode != 3:
        print(f"FAIL: report exits {made.returncode}")
        return 1
    timeline = folder / "history.html"
    made = subprocess.run(
        [
            TOOL,
            str(profile(folder)),
            f"--history={long_history(folder)}",
            "--commit-url=https://example.org/c/{commit}",
            f"--output={timeline}",
        ]
    )
    if made.returncode != 0:
        print(f"FAIL: report --history exits {made.returncode}")
        return 1
    failures = []
    user_data = tempfile.mkdtemp(prefix="chromium")
    browser = Browser(chromium, user_data)
    try:
        browser.attach()
        for width in (390, 1300):
            for theme in ("light", "dark"):
                check(browser, page, width, theme, failures)
                check_history(browser, timeline, width, theme, failures)
        check_without_scripts(browser, page, failures)
    finally:
        browser.process.kill()
        browser.process.wait()
        shutil.rmtree(user_data, ignore_errors=True)
    for failure in failures:
        print("FAIL:", failure)
    if not failures:
        print("ok: 8 views and one without scripts")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
