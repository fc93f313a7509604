"""Rows and other records as an attacker writes them, for hostile_rows_test."""

import json
import random

PIECES = [
    "\x1b[31m", "\x1b]0;title\x07", "\x07", "\x9b2J", "\x08", "\x7f", "\x00",
    "\n", "\r\n", "\r", "\x85", "\u2028", "\n::stop-commands::x\n",
    "::error::forged", "::stop-commands::t", "##[add-mask]x", "##vso[task.x]",
    "<b>", "<script>alert(1)</script>", "</title></svg>", "<!--", "-->", "&",
    "&lt;", "]]>", '"', "'", "`", "```\n", "|", "\\|", "\\", "*", "_", "[a](b)",
    "@everyone", "#12", "# ", "- ", "=1+2", "@SUM(1)", "$x$", "%", "^", "{",
    "}", "~", "/", "../", "a/b", ".", " ", ",", ";", "\t", "\ufffe", "\uffff",
    "\ufeff", "\u202e", "\u061c", "\u200b", "\U000e0041", "\u2066",
    "\U0001f600", "é", "日本", "\x1f", "nan", "[kornia]", "[kornia]:",
    "inf", "-", "1e400", "kornia", "Blur", "x" * 300,
    "https://evil.example/x", "www.evil.example", "a@evil.example", "GH-1",
    "<https://evil.example>", "[a]: http://evil.example", "![x](http://e.x)",
    "<img src=x onerror=alert(1)>", "`<img src=x>`", "<", "img src=x>", "``",
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 123.4, 5e-324, 1e-310, 1e-9, 1e15, 1.7976931348623157e308,
    -1.7976931348623157e308, 2**53, 2**63 - 1, -(2**63),
]  # fmt: skip
COUNTS = [0, 1, 2, -1, -(2**31), 2**31 - 1]
BIG_COUNTS = [0, 1, 2000, -1, -(2**63), 2**63 - 1]


class Maker:
    """Makes records of one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self):
        if self.random.random() < 0.3:
            return self.random.choice(
                ["kornia", "Blur", "cpu", "micro", "", "m"]
            )
        pieces = self.random.choices(PIECES, k=self.random.randint(1, 4))
        return "".join(pieces)

    def number(self):
        if self.random.random() < 0.4:
            return self.random.uniform(1, 1000)
        return float(self.random.choice(NUMBERS))

    def texts(self):
        return [self.text() for _ in range(self.random.randint(0, 3))]

    def pick(self, values):
        return self.random.choice(values)

    def row(self, paired):
        row = {"schema": 1, "record": "row"}
        for name in (
            "scenario", "mode", "scope", "library", "transform", "device",
            "thread_policy", "params_profile", "env_set", "reason", "unit",
            "library_version", "machine_profile", "run_id", "env_id",
        ):  # fmt: skip
            row[name] = self.text()
        row["job_id"] = self.pick(["a", "b", "c", self.text()])
        row["started_at"] = self.pick(["2026-01-02T03:04:05Z", self.text()])
        row["status"] = self.pick(["ok", "ok", "ok", "failed", self.text()])
        for name in ("elapsed_s", "throughput", "p50_s", "p99_s", "of_limit"):
            row[name] = self.number()
        row["samples_s"] = [self.number() for _ in range(self.pick([0, 0, 5]))]
        for name in ("num_items", "items", "rss_peak_bytes"):
            row[name] = self.pick(BIG_COUNTS)
        for name in ("batch_size", "workers", "run_index", "attempt"):
            row[name] = self.pick(COUNTS)
        row["labels"] = self.texts()
        row["warnings"] = self.texts()
        row["settings"] = {
            self.text(): self.text(),
            "swept/it": self.pick("1234"),
        }
        row["dataset"] = {"id": self.text(), "sha256": self.text()}
        row["equivalence"] = {"label": self.pick(["exact", self.text()])}
        row["limit"] = {"name": self.text(), "throughput": self.number()}
        row["loader"] = {
            "stages": [{"name": self.text(), "busy_s": self.number()}],
            "diagnosis": {"verdict": self.text(), "explanation": self.text()},
        }
        row["counters"] = {self.text(): self.number()}
        row["summary"] = {
            "count": self.pick(BIG_COUNTS), "mean_s": self.number(),
            "median_s": self.number(), "stddev_s": self.number(),
        }  # fmt: skip
        row["mixture"] = {
            "batches": self.pick(BIG_COUNTS),
            "warmup_batches": self.pick(BIG_COUNTS),
        }
        if paired:
            row["job_id"] = self.pick(["a", "b"])
            row["pair"] = {
                "index": self.pick([0, 1, 2, 3, 4, 5, *COUNTS]),
                "side": self.pick(["a", "b"]),
                "stage": self.pick(COUNTS),
            }
        return row

    def others(self, paired):
        yield {
            "schema": 1, "record": "env", "env_id": self.text(),
            "machine_profile": self.text(), "os": self.text(),
            "libraries": {self.text(): self.text()},
            "memory": {"total_bytes": self.pick(BIG_COUNTS)},
        }  # fmt: skip
        yield {
            "schema": 1, "record": "run", "run_id": self.text(),
            "config": self.text(), "label": self.text(),
            "command": self.texts(),
        }  # fmt: skip
        for i in range(20):
            yield {
                "schema": 1, "record": "batch", "job_id": self.pick("ab"),
                "batch_index": self.pick([i, *BIG_COUNTS]),
                "wait_s": self.number(), "time_s": self.number(),
                "items": self.pick(BIG_COUNTS), "dominant": self.text(),
                "first_seen": self.texts(), "warmup": self.pick([True, False]),
                "counts": [
                    {"dataset": self.text(), "samples": self.pick(BIG_COUNTS)}
                ],
            }  # fmt: skip
        yield {"schema": 1, "record": self.text()}
        if paired:
            yield {
                "schema": 1, "record": "duel", "a": self.text(),
                "b": self.text(), "stages": [self.pick(COUNTS), 10, 20],
                "interest_percent": self.number(),
            }  # fmt: skip

    def verdict(self, word=None):
        verdict = {"schema": 1, "record": "verdict", "scope": "job"}
        for name in (
            "job_id", "job", "reason", "metric", "machine_profile", "command",
            "floor_source",
        ):  # fmt: skip
            verdict[name] = self.text()
        verdict["verdict"] = word or self.pick(
            ["same", "slower", "faster", "invalid", "cannot_tell"]
        )
        verdict["mode"] = self.pick(["paired", "rules"])
        verdict["codes"] = self.texts()
        verdict["effect"] = {
            name: self.number()
            for name in (
                "percent",
                "low_percent",
                "high_percent",
                "confidence",
                "a",
                "b",
            )
        }
        for name in ("level", "p_value", "floor_percent"):
            verdict[name] = self.number()
        verdict["pairs"] = self.pick(BIG_COUNTS)
        verdict["pair_percent"] = [self.number() for _ in range(5)]
        verdict["checks"] = [
            {
                "metric": self.text(),
                "result": self.text(),
                "current": self.number(),
            }
        ]
        verdict["metrics"] = [
            {"metric": self.text(), "verdict": self.text(),
             "reason": self.text(), "effect": verdict["effect"]}
        ]  # fmt: skip
        return verdict

    def profile(self):
        def times():
            return {"a_s": self.number(), "b_s": self.number()}

        return {
            "schema": 1, "record": "profile", "profiler": self.text(),
            "pairs": self.pick(BIG_COUNTS), **times(),
            "parts": [
                {"name": self.text(), **times(), "change_s": self.number(),
                 "low_s": self.number(), "high_s": self.number(),
                 "share_percent": self.number()} for _ in range(5)
            ],
            "frames": [
                {"parent": self.pick([i - 1, i - 1, i // 2, *COUNTS]),
                 "name": self.text(), **times()} for i in range(40)
            ],
        }  # fmt: skip

    def history(self):
        for i in range(30):
            yield {
                "schema": 1, "record": "env",
                "git": {"revision": self.pick([str(i), self.text()])},
            }  # fmt: skip
            for job in "ab":
                row = self.row(paired=False)
                del row["mixture"]
                yield row | {
                    "job_id": job, "machine_profile": "m", "status": "ok",
                    "settings": {}, "samples_s": [], "elapsed_s": 0,
                    "throughput": self.pick([1, 2, self.number()]),
                }  # fmt: skip

    def imported(self):
        """Files of harnesses, by name."""
        yield "google.json", json.dumps({
            "context": {"executable": self.text(), "num_cpus": 4},
            "benchmarks": [
                {"name": self.text() or "x", "real_time": self.number(),
                 "iterations": self.pick(BIG_COUNTS), self.text(): 1,
                 "error_occurred": self.pick([True, False, False]),
                 "error_message": self.text()} for _ in range(20)
            ],
        })  # fmt: skip
        yield "hyperfine.json", json.dumps({
            "results": [
                {"command": self.text() or "x", "mean": self.number(),
                 "median": self.number(), "stddev": self.number(),
                 "times": [self.number() for _ in range(self.pick([0, 4]))],
                 "parameters": {self.text(): self.text()}} for _ in range(9)
            ],
        })  # fmt: skip
        fields = [self.text().replace('"', '""') for _ in range(12)]
        yield (
            "table.csv",
            f'name,time_s,"x{fields[0]}"\n'
            + "".join(
                f'"{field}",{self.number()},"{field}"\n' for field in fields
            ),
        )


def lines_of(records):
    # Half of the files spell characters out, half escape them.
    for i, record in enumerate(records):
        text = json.dumps(
            record, ensure_ascii=i % 2 == 0, separators=(",", ":")
        )
        yield text.encode("utf-8", "surrogatepass")
