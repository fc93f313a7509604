"""gpu_duel_dali.py with two processes that only say they worked."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import bench_common

_DUEL = pathlib.Path(bench_common.__file__).with_name("gpu_duel_dali.py")
_SIDE = """
import json, sys
items, seconds = 512, float(sys.argv[1])
for number, _ in enumerate(sys.stdin):
    print(json.dumps({"items": items, "elapsed_s": seconds * (1 + number / 100)
                      }), flush=True)
"""


class Graph:
    """Counts runs as DALI's pipelines do: the first call fills the queue."""

    def __init__(self, depth):
        self.runs = self.waiting = 0
        self._depth = depth

    def schedule_run(self):
        runs = 1 if self.runs else self._depth
        self.runs += runs
        self.waiting += runs

    def share_outputs(self):
        if not self.waiting:
            raise AssertionError("nothing was scheduled")
        self.waiting -= 1
        return ([0] * 4,)

    def release_outputs(self):
        pass


class DaliEpochTest(unittest.TestCase):
    def test_no_run_is_left_for_the_next_epoch(self):
        spec = importlib.util.spec_from_file_location("duel", _DUEL)
        duel = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(duel)
        for batches in (2, 3, 16):
            graph = Graph(depth=2)
            for number in range(3):
                items = duel.dali_epoch(graph, batches, is_first=number == 0)
                self.assertEqual(items, 4 * batches)
                self.assertEqual(graph.waiting, 0)
                self.assertEqual(graph.runs, (number + 1) * batches)


class GpuDuelDaliTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        (self.folder / "side.py").write_text(_SIDE)
        self.output = self.folder / "duel.jsonl"

    def tearDown(self):
        self._folder.cleanup()

    def side(self, seconds):
        return f"{sys.executable} {self.folder / 'side.py'} {seconds}"

    def duel(self, *flags, ours=1.0, dali=1.5):
        return subprocess.run(
            [
                sys.executable,
                _DUEL,
                f"--folder={self.folder}",
                f"--output={self.output}",
                f"--ours={self.side(ours)}",
                f"--dali={self.side(dali)}",
                "--works=crop",
                *flags,
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def records(self):
        return [json.loads(x) for x in self.output.read_text().splitlines()]

    def test_ratio_and_turns(self):
        done = self.duel("--rounds=4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rounds   4", done.stdout)
        self.assertIn("ratio 1.500  95% 1.500 to 1.500", done.stdout)
        first = [r["side"] for r in self.records()[::2]]
        self.assertEqual(first, ["ours", "dali", "ours", "dali"])

    def test_first_side_against_each_other(self):
        done = self.duel(
            "--rounds=2",
            "--sides=module,ours,dali",
            f"--module={self.side(0.5)}",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "module +1009  ours +504  ratio 2.000")
        self.assertRegex(done.stdout, "module +1009  dali +336  ratio 3.000")
        sides = [r["side"] for r in self.records()]
        self.assertEqual(
            sides, ["module", "ours", "dali", "dali", "ours", "module"]
        )

    def test_carries_on(self):
        self.duel("--rounds=2")
        # The second round lost its second side, in the middle of a line.
        lines = self.output.read_text().splitlines()
        self.output.write_text("\n".join([*lines[:3], lines[3][:9]]))
        done = self.duel("--rounds=3")
        self.assertIn("rounds   3", done.stdout)
        rounds = [r["round"] for r in self.readable()]
        self.assertEqual(rounds, [0, 0, 1, 1, 1, 2, 2])
        again = self.duel("--rounds=3")
        self.assertIn("rounds   3", again.stdout)
        self.assertEqual(len(self.readable()), 7, "nothing was measured again")

    def readable(self):
        return bench_common.read_records(self.output)

    def test_time_is_up(self):
        done = self.duel("--rounds=3", "--seconds=0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no round is complete", done.stdout)
        self.assertIn("carries on", done.stdout)

    def test_a_side_that_ends(self):
        done = self.duel("--rounds=1", "--ours=false")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ours ended with 1", done.stderr)


if __name__ == "__main__":
    unittest.main()
