"""How gpu_train.py takes turns, with stand-ins for the GPU's programs."""

import contextlib
import io
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import gpu_train


class Clock:
    """Time passes by steps of the peer alone: 3 ms each."""

    def __init__(self):
        self.now = 0.0
        self.steps = 0

    def perf_counter(self):
        return self.now

    def step(self):
        self.steps += 1
        self.now += 0.003


class TurnsTest(unittest.TestCase):
    def turns(self, runs, fused):
        clock = Clock()
        training = types.SimpleNamespace(step=clock.step, forget=lambda: None)
        words = []
        worker = types.SimpleNamespace(
            parse=words.extend, Training=lambda torch, spec: training
        )
        cuda = types.SimpleNamespace(synchronize=lambda: None)
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as name:
            here = pathlib.Path(name)
            (here / "tests").mkdir()
            program = here / "tests/fused_check"
            program.write_text(f"#!/bin/sh\necho $3\n{fused}\n")
            program.chmod(0o755)
            modules = {
                "torch": types.SimpleNamespace(cuda=cuda),
                "train_worker": worker,
            }
            with (
                mock.patch.object(gpu_train, "HERE", here),
                mock.patch.object(gpu_train, "time", clock),
                mock.patch.object(sys, "path", list(sys.path)),
                mock.patch.dict(sys.modules, modules),
                contextlib.redirect_stdout(out),
            ):
                gpu_train.take_turns(runs, "vit5_small", "256")
        return out.getvalue().splitlines(), clock.steps, words

    def test_medians_and_ratios(self):
        steps = "for i in 1.9 1.5 1.0; do echo step $i ms, 9 samples/s; done"
        lines, taken, words = self.turns("2", steps)
        self.assertEqual(lines[0], "0: 1.500 ms, torch_compile_bf16 3.000")
        self.assertEqual(
            lines[-1],
            "vit5_small batch 256: 1.50 ms (170667 samples/s), "
            "torch_compile_bf16 3.00 ms, 2.000 times as long [2.000, 2.000]",
        )
        # Five that compile; of a turn ten, then three times 20.
        self.assertEqual(taken, 5 + 2 * 70)
        self.assertIn("precision=bf16", words)
        self.assertIn("batch_size=256", words)

    def test_a_step_that_fails_is_no_figure(self):
        with self.assertRaises(gpu_train.subprocess.CalledProcessError):
            self.turns("1", "echo step 1 ms; exit 1")


if __name__ == "__main__":
    unittest.main()
