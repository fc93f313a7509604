"""bench_common.py: turns, intervals, processes."""

import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import unittest

import bench_common


def first_interval(ratios, seed=1):
    """The interval as it stood in four scripts, which reported with it."""
    source = random.Random(seed)
    medians = sorted(
        statistics.median(source.choices(ratios, k=len(ratios)))
        for _ in range(2000)
    )
    return statistics.median(ratios), medians[50], medians[1949]


class StrictJsonTest(unittest.TestCase):
    def test_what_is_there_twice_is_refused(self):
        self.assertEqual(
            bench_common.strict_loads('{"a": {"b": 1}, "b": 2}'),
            {"a": {"b": 1}, "b": 2},
        )
        for text in ('{"a": 1, "a": 1}', '[{"x": {"b": 1, "b": 2}}]'):
            with self.assertRaises(bench_common.RepeatedKeyError):
                bench_common.strict_loads(text)
        line = '{"record": "row", "library": "l", "library": "null"}'
        with self.assertRaises(bench_common.RepeatedKeyError):
            bench_common.rows_of(line)


class StatisticsTest(unittest.TestCase):
    def test_interval_is_that_of_earlier_reports(self):
        source = random.Random(7)
        for count in (1, 2, 7, 20, 33):
            values = [source.lognormvariate(0, 0.1) for _ in range(count)]
            self.assertEqual(
                bench_common.interval(values), first_interval(values)
            )
            self.assertEqual(
                bench_common.interval(values, random.Random(2)),
                first_interval(values, seed=2),
            )

    def test_more_draws_leave_out_the_same_share(self):
        # Every draw of 3 values has its median among them: 4,000 are sorted,
        # 100 lie outside at either end.
        low, high = bench_common.interval([1, 2, 3], draws=4000)[1:]
        self.assertEqual((low, high), (1, 3))

    def test_interval_text(self):
        self.assertEqual(
            bench_common.interval_text([2.0] * 5, 1.5),
            "2.000 [2.000, 2.000] over 5 pairs; bar 1.5",
        )

    def test_ratios_want_complete_rounds(self):
        self.assertEqual(bench_common.ratios([3, 8], [1, 4]), [3, 2])
        with self.assertRaises(ValueError):
            bench_common.ratios([1], [1, 2])

    def test_each_side_has_its_turn(self):
        calls, source = [], random.Random(1)
        sides = {
            "a": lambda: calls.append("a") or 1,
            "b": lambda: calls.append("b") or 2,
        }
        for _ in range(50):
            seen = bench_common.take_turns(sides, source)
            self.assertEqual(seen, {"a": 1, "b": 2})
        self.assertEqual(calls.count("a"), 50)
        self.assertEqual(set(calls[::2]), {"a", "b"}, "either may be first")

    def test_alternate(self):
        calls = []
        sides = {name: lambda n=name: calls.append(n) for name in "ba"}
        for number in range(3):
            bench_common.alternate(sides, number)
        self.assertEqual("".join(calls), "baabba")


class ProcessTest(unittest.TestCase):
    def asked(self, script):
        asked = bench_common.Asked("peer", [sys.executable, "-c", script])
        self.addCleanup(asked.close)
        return asked

    def test_answers(self):
        asked = self.asked(
            "import sys\nfor line in sys.stdin: print(2 * len(line), flush=1)"
        )
        self.assertEqual(asked.ask(), 2)
        self.assertEqual(asked.ask("four"), 10)

    def test_ended(self):
        asked = self.asked("import sys; sys.stdin.readline(); sys.exit(4)")
        with self.assertRaisesRegex(RuntimeError, "^peer ended$") as caught:
            asked.ask()
        self.assertEqual(caught.exception.code, 4)

    def test_resources(self):
        command = [sys.executable, "-c", "x = bytearray(50 << 20)"]
        seconds, usage = bench_common.resources(command)
        self.assertGreater(seconds, 0)
        self.assertGreater(usage.ru_maxrss, 50 << 10)
        with self.assertRaises(SystemExit) as caught:
            bench_common.resources(["false"])
        self.assertEqual(caught.exception.code, "false failed")

    def test_a_failure_is_not_timed(self):
        self.assertGreater(bench_common.wall_s(["true"]), 0)
        with self.assertRaises(subprocess.CalledProcessError):
            bench_common.wall_s(["false"])

    def test_rows(self):
        text = (
            '{"record":"env"}\n'
            '{"record":"row","library":"null"}\n'
            '{"record":"row","library":"opencv"}\n'
        )
        self.assertEqual(
            [row["library"] for row in bench_common.rows_of(text)], ["opencv"]
        )

    def test_records(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "lines.jsonl"
            self.assertEqual(bench_common.read_records(path), [])
            path.write_text('{"a":1}\n{"b":\n{"c":3}\n{"d')
            self.assertEqual(
                bench_common.read_records(path), [{"a": 1}, {"c": 3}]
            )
            self.assertTrue(path.read_text().endswith('{"d\n'))


if __name__ == "__main__":
    unittest.main()
