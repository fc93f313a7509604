"""Reads what others wrote, next to the reference reader, and prints a table.

    make foreign                      everything
    make foreign ONLY="images tars"   only these kinds (sources.py lists them)
    dev/foreign.sh golang-1.19        only sources of this name

Packages are fetched by name into the user's cache and only unpacked. Outcomes
of all cases are written to dist/foreign.jsonl. Exit codes: 0 nothing is
unexplained, 1 something is, 2 some sources could not be fetched. With --cached,
what was not fetched before is left out.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading

import fetch
import outcome
import sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "dev/foreign"
# A case that takes longer hangs. The longest takes a minute alone; machines are
# busy.
LIMIT_S = 900
WORDS = ["equal", "refused", "explained", "unexplained"]


class Worker:
    """A process that compares cases, and is made anew where one ends it."""

    def __init__(self, python, kind, folder, log):
        self._command = [python, "-B", FOLDER / "worker.py", kind, folder]
        self._log = log
        self._start()

    def _start(self):
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._lines = queue.Queue()
        threading.Thread(
            target=self._read, args=(self._process, self._lines), daemon=True
        ).start()
        self.cases = self._answer()
        if not isinstance(self.cases, list):
            raise RuntimeError(f"no cases: {self.cases}; see {self._log.name}")

    @staticmethod
    def _read(process, lines):
        with process.stdout:
            for line in process.stdout:
                lines.put(line)
        lines.put("")

    def _answer(self):
        """What it printed, or a text that says how it ended."""
        try:
            line = self._lines.get(timeout=LIMIT_S)
        except queue.Empty:
            self._process.kill()
            self._process.wait()
            return f"hangs: no answer in {LIMIT_S} s"
        if line:
            return json.loads(line)
        status = self._process.wait()
        return f"crashes: the process ended with {status}"

    def compare(self, case):
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if isinstance(answer, list):
            return outcome.Outcome(*answer)
        self._process.stdin.close()
        self._start()
        return outcome.unexplained(answer)

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def compare_all(source, python, out):
    """Counts of outcomes by their words; `out` gets every case."""
    folder = source.fetch()
    log = (ROOT / "dist" / f"foreign_{source.kind}_{source.name}.log").open("w")
    with log:
        worker = Worker(python, source.kind, folder, log)
        counts = collections.Counter()
        for case in worker.cases:
            found = worker.compare(case)
            counts[found.word] += 1
            record = {"source": source.name, "kind": source.kind, "case": case}
            out.append({**record, **found._asdict()})
        worker.close()
    print(f"{source.kind} of {source.name}: done", file=sys.stderr)
    return counts


def environments(kinds):
    """Kind to interpreter, with all that the kinds need made and built."""
    targets = {t for kind in kinds for t in sources.KINDS[kind].targets}
    if targets:
        build = [ROOT / "dev/bazel.sh", "build", "--show_result=0"]
        subprocess.run([*build, *sorted(targets)], check=True)
    pythons = {}
    for kind in kinds:
        lock = sources.KINDS[kind].lock
        made = subprocess.run(
            [ROOT / "dev/python_env.sh", ROOT / lock],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        pythons[kind] = made.stdout.strip() + "/bin/python"
    return pythons


def table(rows):
    """Lines in Markdown."""
    lines = ["| source | read as | cases | " + " | ".join(WORDS) + " |"]
    lines.append("|---|---|" + "---|" * (1 + len(WORDS)))
    total = collections.Counter()
    for source, counts in rows:
        if isinstance(counts, str):
            words = f"not compared: {counts}", "", "", "", ""
        else:
            counts = collections.Counter(counts)
            total += counts
            words = (sum(counts.values()), *(counts[w] for w in WORDS))
        lines.append(f"| {source.name} | {source.kind} |" + cells(words))
    words = (sum(total.values()), *(total[w] for w in WORDS))
    lines.append("| all | |" + cells(words))
    return lines, total["unexplained"]


def cells(words):
    return "".join(f" {word} |" for word in words)


def main():
    names = [word for word in sys.argv[1:] if word != "--cached"]
    fetch.OFFLINE = "--cached" in sys.argv[1:]
    wanted = [
        s
        for s in sources.SOURCES
        if not names or s.name in names or s.kind in names
    ]
    if not wanted:
        known = {s.name for s in sources.SOURCES} | set(sources.KINDS)
        sys.exit(f"foreign: {names[0]}: unknown; known: {sorted(known)}")
    (ROOT / "dist").mkdir(exist_ok=True)
    pythons = environments(sorted({s.kind for s in wanted}))
    found = []

    def one(source):
        try:
            return compare_all(source, pythons[source.kind], found)
        except fetch.NotFetchedError as error:
            return str(error)

    jobs = int(os.environ.get("JOBS") or os.cpu_count())
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = list(zip(wanted, pool.map(one, wanted), strict=True))
    if fetch.OFFLINE:
        rows = [row for row in rows if not isinstance(row[1], str)]
        if not rows:
            print("nothing was fetched before; fetch it with: make foreign")
            return 77
    lines, bad = table(rows)
    print("\n".join(lines))
    with open(ROOT / "dist/foreign.jsonl", "w") as file:
        for record in found:
            file.write(json.dumps(record) + "\n")
            if record["word"] in ("explained", "unexplained"):
                print("{word}: {source}: {case}: {why}".format(**record))
    if bad:
        return 1
    return 2 if any(isinstance(counts, str) for _, counts in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
