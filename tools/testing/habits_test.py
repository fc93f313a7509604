#!/usr/bin/env python3
"""One flag per meaning in all programs, and the same habits around them.

The flags come from each program's --help; the tables below say what must agree.
Where a program needs another rule, it is listed with the reason.
"""

import collections
import gzip
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

PROGRAMS = [
    "aggregate",
    "audit",
    "check_coverage",
    "collect_env",
    "compare_baseline",
    "duel",
    "eval",
    "flops",
    "micro",
    "mixture",
    "pipeline",
    "plan",
    "report",
    "stage_dataset",
    "train",
    "video",
]

# Flags that every program has, but for those named.
EVERY = {
    "output": {"stage_dataset"},  # Writes a folder of data, --dest.
    "format": set(),
}

# Flags that have the same default wherever there is one.
SAME_DEFAULT = ["on_error", "output", "configs", "any_work", "relative_to"]

# Flags whose values differ in form, and why.
OTHER_FORM = {
    "baseline": "report takes several",
    "import": "who wrote results; in train, the file with weights",
    "metrics": "what the gate judges; in train, the file with its metrics",
    "model": "flops takes several",
    "output": "runners and plan also take a folder",
    "profile": "pairs to profile in duel; in train, what to write",
    "shard_bytes": "the size of a tar shard; in eval, a part of a text",
}

# The words of --format, each with one meaning.
FORMATS = {
    "table",
    "text",
    "markdown",
    "csv",
    "latex",
    "json",
    "jsonl",
    "html",
    "svg",
    "junit",
    "sarif",
    "github",
}

# Words for something that another flag says already.
OTHER_SPELLINGS = [
    "out",
    "out_file",
    "output_file",
    "json",
    "markdown",
    "jsonl",
    "csv",
    "text",
    "num_jobs",
    "job_file",
    "runs",
    "n_runs",
    "error_policy",
    "skip_errors",
    "ignore_errors",
    "input",
    "file",
]

ROWS = "lib/analysis/testing/rows.jsonl"
RUNNERS = {
    "pipeline": ["--config=configs/demo_pipeline.textproto", "--num_items=4"]
}


def path_of(program):
    return f"tools/{program}/{program}"


def run(program, *flags, **options):
    return subprocess.run(
        [path_of(program), *flags], capture_output=True, text=True, **options
    )


Flag = collections.namedtuple("Flag", "form choices default")


def flags_of(program):
    """The flags in --help, by name with underscores."""
    flags = {}
    name = None
    for line in run(program, "--help", check=True).stdout.splitlines():
        start = re.match(r"  --([a-z0-9_-]+)(=\S+)?(.*)", line)
        if start:
            name = start[1].replace("-", "_")
            flags[name] = [(start[2] or "").rstrip(",")[1:], start[3]]
        elif line.startswith("      ") and name:
            flags[name][1] += " " + line
        else:
            name = None
    found = {}
    for name, (form, text) in flags.items():
        text = " ".join(text.split())
        choices = re.search(r"\{([^}]*\|[^}]*)\}", text)  # {side} is a place.
        default = re.search(r"\(default ([^)]*)\)$", text)
        found[name] = Flag(
            form,
            frozenset(choices[1].split("|")) if choices else None,
            default[1] if default else "",
        )
    return found


class FlagsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.flags = {program: flags_of(program) for program in PROGRAMS}

    def users(self, name):
        return {p: f[name] for p, f in self.flags.items() if name in f}

    def test_help_was_understood(self):
        for program, flags in self.flags.items():
            self.assertGreater(len(flags), 5, program)
            self.assertIn("help", flags, program)

    def test_every_program_has_them(self):
        for name, without in EVERY.items():
            self.assertEqual(
                set(PROGRAMS) - set(self.users(name)), without, f"--{name}"
            )

    def test_one_name_per_meaning(self):
        for program, flags in self.flags.items():
            other = set(OTHER_SPELLINGS) & set(flags)
            self.assertFalse(other, program)

    def test_one_form_per_name(self):
        names = {name for flags in self.flags.values() for name in flags}
        for name in sorted(names - set(OTHER_FORM)):
            forms = {flag.form for flag in self.users(name).values()}
            self.assertEqual(len(forms), 1, f"--{name}: {self.users(name)}")
            if name in ("format", "precision"):
                continue
            choices = {flag.choices for flag in self.users(name).values()}
            self.assertEqual(len(choices), 1, f"--{name}: {self.users(name)}")

    def test_one_default_per_name(self):
        for name in SAME_DEFAULT:
            defaults = {
                flag.default or ("-" if name == "output" else "")
                for flag in self.users(name).values()
            }
            self.assertEqual(len(defaults), 1, f"--{name}: {self.users(name)}")
        self.assertEqual(self.users("on_error")["mixture"].default, "skip")

    def test_formats_are_known_words(self):
        for program, flag in self.users("format").items():
            self.assertTrue(flag.choices <= FORMATS, (program, flag.choices))
            result = run(program, "--format=no_such", stdin=subprocess.DEVNULL)
            self.assertEqual(result.returncode, 1, program)


class HabitsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.rows = pathlib.Path(ROWS).read_text()

    # Programs that need nothing else, with flags that make them write.
    WRITERS = {
        "aggregate": [ROWS],
        "check_coverage": ["--coverage=ram-reduced", ROWS],
        "collect_env": ["--nvml_library=none"],
        "compare_baseline": ["--current=/dev/null", "--format=markdown"],
        "duel": ["--a=true", "--b=true", "--pairs=2", "--quiet"],
        "flops": [],
        "plan": ["--config=configs/demo.textproto"],
        "report": [ROWS],
    }

    def test_without_a_file_standard_input_is_read(self):
        for program, flags in {
            "aggregate": [],
            "check_coverage": ["--coverage=ram-reduced", "--format=jsonl"],
            "report": ["--format=markdown"],
        }.items():
            named = run(program, *flags, ROWS)
            self.assertTrue(named.stdout, named.stderr)
            piped = run(program, *flags, input=self.rows)
            self.assertEqual(piped.returncode, named.returncode, program)
            # Only rows in a file can be measured again in place.
            self.assertEqual(
                piped.stdout.replace("standard input", ROWS).split(" again:")[
                    0
                ],
                named.stdout.split(" again:")[0],
                program,
            )

    def test_output_makes_the_folders_above_it(self):
        for program, flags in self.WRITERS.items():
            path = pathlib.Path(self.folder.name, program, "deep", "file")
            usual = run(program, *flags)
            result = run(program, *flags, f"--output={path}")
            self.assertEqual(result.returncode, usual.returncode, program)
            self.assertTrue(path.is_file(), (program, result.stderr))
            self.assertEqual(result.stdout, "", program)
            self.assertGreater(path.stat().st_size, 0, program)

    def test_a_full_disk_is_named(self):
        for program, flags in {
            **self.WRITERS,
            **{program: ["--help"] for program in PROGRAMS},
        }.items():
            with open("/dev/full", "w") as full:
                result = subprocess.run(
                    [path_of(program), *flags],
                    stdout=full,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            self.assertEqual(result.returncode, 2, program)
            self.assertIn(
                "standard output: cannot write: No space left", result.stderr
            )

    def test_a_reader_that_is_gone_ends_every_program_alike(self):
        cases = {**self.WRITERS, **RUNNERS}
        cases.update({p: ["--help"] for p in PROGRAMS if p not in cases})
        for program, flags in cases.items():
            reader, writer = os.pipe()
            os.close(reader)
            result = subprocess.run(
                [path_of(program), *flags],
                stdout=writer,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "HOME": self.folder.name},
            )
            os.close(writer)
            self.assertEqual(
                (result.returncode, result.stderr),
                (-signal.SIGPIPE, ""),
                program,
            )

    def test_folders_of_rows_hold_plain_files_only(self):
        pathlib.Path(self.folder.name, "rows.jsonl").write_text(self.rows)
        os.mkfifo(pathlib.Path(self.folder.name, "pipe.jsonl"))
        for program, flags in {
            "aggregate": [self.folder.name],
            "check_coverage": ["--coverage=ram-reduced", self.folder.name],
            "compare_baseline": [f"--history={self.folder.name}"],
            "plan": [*self.WRITERS["plan"], f"--existing={self.folder.name}"],
            "report": [self.folder.name],
        }.items():
            result = run(program, *flags, timeout=60)
            self.assertIn(result.returncode, (0, 3), result.stderr)

    # Readers of rows: flags before the file, and the exit code of rows that
    # are whole.
    READERS = {
        "aggregate": ([], 0),
        "aggregate --rerun_noisy": (["--rerun_noisy"], 0),
        "check_coverage": (["--coverage=ram-reduced"], 3),
        "compare_baseline": ([f"--baseline={ROWS}", "--current"], None),
        "compare_baseline --history": (["--history"], None),
        "report": (["--format=markdown"], 0),
        "report --history": (["--output=-", "--history"], 0),
    }

    def read(self, name, flags, content):
        path = pathlib.Path(self.folder.name, "some.jsonl")
        path.write_bytes(content)
        return run(name.split()[0], *flags, path, timeout=60)

    def test_refused_records_are_told_and_change_the_exit_code(self):
        lines = self.rows.splitlines(keepends=True)
        row = next(one for one in lines if '"status":"ok"' in one)
        throughput = '"throughput":'
        at = row.index(throughput)
        refused = {
            "text": row[:at] + throughput + '"fast"}\n',
            "twice": row[:at] + throughput + "1," + row[at:],
        }
        log = self.rows + "Epoch 1 of 3: loss 0.4\n"
        torn = self.rows + row[:200]
        for name, (flags, code) in self.READERS.items():
            for text in (self.rows, log, torn):
                result = self.read(name, flags, text.encode())
                if code is not None and name != "check_coverage":
                    self.assertEqual(result.returncode, code, result.stderr)
                self.assertNotEqual(result.returncode, 1, (name, result))
            for what, line in refused.items():
                result = self.read(name, flags, (self.rows + line).encode())
                where = f"some.jsonl:{len(lines) + 1}: "
                said = result.stderr + result.stdout
                self.assertIn(where, said, (name, what))
                self.assertEqual(
                    result.returncode, code if code == 3 else 1, (name, what)
                )

    def test_compressed_rows_are_named(self):
        packed = gzip.compress(self.rows.encode())
        for name, (flags, _) in self.READERS.items():
            result = self.read(name, flags, packed)
            self.assertEqual(result.returncode, 1, name)
            self.assertIn("is compressed with gzip", result.stderr, name)


if __name__ == "__main__":
    unittest.main()
