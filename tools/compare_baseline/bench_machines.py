#!/usr/bin/env python3
"""Measures how often a comparison with another machine's baseline is wrong.

    bazel build //tools/collect_env //tools/compare_baseline
    tools/compare_baseline/bench_machines.py

This machine plays several: without other work, next to busy processes, next to
a process that copies memory, and pinned to one processor. On each, a program of
24 small jobs (integers, floats, branches, copies, random reads of 8 KiB to
32 MiB) and `collect_env --reference_speeds` run --samples times. Then each
sample is compared with a sample of each other machine, once as it is and once
with a tenth of the jobs doing --slow percent more work. Prints the table of
docs/compare_baseline.md and exits with 3 if more than 1 of 100 unchanged suites
has a job that is called slower.
"""

import collections
import contextlib
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))

import bench_common  # noqa: E402

COLLECT = ROOT / "bazel-bin/tools/collect_env/collect_env"
COMPARE = ROOT / "bazel-bin/tools/compare_baseline/compare_baseline"
# jobs SLOW_PERCENT: prints "JOB RUN THROUGHPUT". Each tenth job does more.
JOBS = r"""
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
using Clock = std::chrono::steady_clock;
volatile double sink;
struct Data {
  std::vector<uint32_t> next;
  std::vector<float> x, y;
  explicit Data(size_t bytes) : next(bytes / 4), x(bytes / 4, 1), y(bytes / 4) {
    for (size_t i = 0; i < next.size(); ++i) next[i] = i;
    uint64_t s = 1;
    for (size_t i = next.size() - 1; i > 0; --i) {
      s = s * 6364136223846793005u + 1442695040888963407u;
      std::swap(next[i], next[(s >> 33) % i]);
    }
  }
};
void Work(int kind, Data& d, long rounds) {
  const size_t n = d.next.size();
  uint64_t s = 7;
  double sum = 0;
  uint32_t at = 0;
  switch (kind) {
    case 0:
      for (long i = 0; i < rounds; ++i) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
      }
      break;
    case 1:
      for (long i = 0; i < rounds; ++i) sum += 1 / (1 + sum);
      break;
    case 2:
      for (long i = 0; i < rounds; ++i) at = d.next[at];
      break;
    case 3:
      for (long i = 0; i < rounds; ++i) sum += d.x[(i * 16) % n];
      break;
    case 4:
      for (long i = 0; i < rounds / 64; ++i) {
        float* y = &d.y[(i * 64) % (n - 64)];
        const float* x = &d.x[(i * 64) % (n - 64)];
        for (int j = 0; j < 64; ++j) y[j] = y[j] * 0.5f + x[j];
      }
      break;
    case 5:
      for (long i = 0; i < rounds; ++i) {
        s = s * 6364136223846793005u + 1;
        if ((s >> 60) > 7) sum += 1; else s ^= d.next[s % n];
      }
      break;
  }
  sink = sum + s + at;
}
int main(int, char** argv) {
  const double slow = 1 + std::atof(argv[1]) / 100;
  int job = 0;
  for (const size_t bytes : {8u << 10, 256u << 10, 4u << 20, 32u << 20}) {
    Data data(bytes);
    for (int kind = 0; kind < 6; ++kind, ++job) {
      const long rounds = 100000;
      const long done = job % 10 == 3 ? rounds * slow : rounds;
      Work(kind, data, done);
      for (int run = 0; run < 5; ++run) {
        const auto start = Clock::now();
        long units = 0;
        double took = 0;
        do {
          Work(kind, data, done);
          units += rounds;
          took = std::chrono::duration<double>(Clock::now() - start).count();
        } while (took < 0.02);
        std::printf("%d %d %.9g\n", job, run, units / took);
      }
    }
  }
}
"""
COPIES = "x = bytearray(1 << 27)\nwhile True: x[:] = x"
BUSY = "while True: pass"


@contextlib.contextmanager
def beside(programs):
    running = [
        subprocess.Popen([sys.executable, "-c", text]) for text in programs
    ]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


# Name, processes next to it, and processors (all if None).
MACHINES = [
    ("quiet", [], None),
    ("busy1", [BUSY], None),
    ("busy2", [BUSY, BUSY], None),
    ("copies", [COPIES], None),
    ("pinned", [], {0}),
]


def measure(program, machine, slow):
    """Records of one sample: reference speeds, and rows."""
    name, programs, cpus = machine
    pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    with beside(programs):
        out = subprocess.run(
            [COLLECT, "--reference_speeds"],
            capture_output=True,
            check=True,
            preexec_fn=pin,
        ).stdout
        text = subprocess.run(
            [program, str(slow)],
            capture_output=True,
            check=True,
            preexec_fn=pin,
        ).stdout
    lines = []
    for line in out.splitlines():
        record = json.loads(line)
        if record["record"] == "reference_speeds":
            record["machine_profile"] = name
            lines.append(json.dumps(record))
    for line in text.decode().splitlines():
        job, run, throughput = line.split()
        row = {
            "schema": 1,
            "record": "row",
            "job_id": f"job{job}",
            "mode": "micro",
            "library": "bench",
            "transform": f"Job{job}",
            "device": "cpu",
            "status": "ok",
            "items": 1,
            "machine_profile": name,
            "run_index": int(run),
            "throughput": float(throughput),
        }
        lines.append(json.dumps(row))
    return "\n".join(lines) + "\n"


def compare(folder, baselines, current):
    """The verdicts on `current`, with `baselines` (profile, records)."""
    stored = folder / "baselines"
    stored.mkdir(exist_ok=True)
    for old in stored.iterdir():
        old.unlink()
    for profile, text in baselines:
        (stored / f"{profile}.rows.jsonl").write_text(text)
    rows = folder / "rows.jsonl"
    rows.write_text(current)
    done = subprocess.run(
        [
            COMPARE,
            f"--current={rows}",
            f"--baselines={stored}",
            "--across_machines",
            f"--configs={ROOT / 'configs'}",
        ],
        capture_output=True,
        check=False,
    )
    if done.returncode not in (0, 3, 4):
        sys.exit(f"compare_baseline: {done.stderr.decode()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line for line in lines if line["scope"] == "job"]


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--slow", type=float, default=50)
    args = parser.parse_args()
    counts = collections.Counter()
    floors = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "jobs.cc").write_text(JOBS)
        program = folder / "jobs"
        subprocess.run(
            ["g++", "-O2", folder / "jobs.cc", "-o", program], check=True
        )
        samples = {}
        for i in range(args.samples):
            for machine in MACHINES:
                samples[machine[0], i] = measure(program, machine, 0)
                samples[machine[0], i, "slow"] = measure(
                    program, machine, args.slow
                )
        names = [machine[0] for machine in MACHINES]
        for i in range(args.samples):
            # One baseline, and those of all other machines.
            choices = [([a], b) for a, b in itertools.permutations(names, 2)]
            choices += [([a for a in names if a != b], b) for b in names]
            for known, now in choices:
                kind = len(known)
                stored = [(a, samples[a, i]) for a in known]
                jobs = compare(folder, stored, samples[now, i])
                wrong = [job for job in jobs if job["verdict"] == "slower"]
                counts["suites", kind] += 1
                counts["wrong", kind] += bool(wrong)
                for job in jobs:
                    counts[job["verdict"], kind] += 1
                    floors.setdefault(kind, []).append(job["floor_percent"])
                for job in compare(folder, stored, samples[now, i, "slow"]):
                    slowed = int(job["job_id"][3:]) % 10 == 3
                    found = job["verdict"] == "slower"
                    counts["slowed", kind] += slowed
                    counts["found", kind] += slowed and found
                    counts["unjust", kind] += found and not slowed
    print(
        "| machines with a baseline | suites | with a false alarm | jobs same "
        "| cannot tell | smallest detectable change | of jobs with "
        f"{args.slow:g}% more work, found | others called slower then |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for kind in sorted(floors):
        print(
            f"| {kind} | {counts['suites', kind]} | {counts['wrong', kind]} | "
            f"{counts['same', kind]} | {counts['cannot_tell', kind]} | "
            f"{statistics.median(floors[kind]):.0f}% | "
            f"{counts['found', kind]} of {counts['slowed', kind]} | "
            f"{counts['unjust', kind]} |"
        )
    wrong = sum(counts["wrong", kind] for kind in floors)
    suites = sum(counts["suites", kind] for kind in floors)
    good = 100 * wrong <= suites
    print("\nkept" if good else "\nBROKEN: wrong more often than promised")
    sys.exit(0 if good else 3)


if __name__ == "__main__":
    main()
