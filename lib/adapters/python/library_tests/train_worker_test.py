"""PyTorch's peers of worker_train: needs the environment of torch."""

import json
import pathlib
import subprocess
import sys
import unittest

import process_setup

HERE = pathlib.Path(__file__).resolve().parent.parent


def run(*words):
    done = subprocess.run(
        [sys.executable, "-B", HERE / "train_worker.py", *words, "threads=1"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


class TrainWorkerTest(unittest.TestCase):
    def test_models_have_the_parameters_of_the_cpp_ones(self):
        process_setup.avoid_hidden_sve()
        import train_model

        # What lib/model/flops.cc counts and the C++ models have.
        for name, expected in (
            ("vit5_tiny", 203338),
            ("byte_lm_tiny", 856960),
        ):
            model = train_model.Model(train_model.SPECS[name])
            count = sum(p.numel() for p in model.parameters())
            self.assertEqual(count, expected, name)

    def test_answers_as_worker_train_does(self):
        events = run("batch_size=2", "warmup=1", "steps=3", "rates=0")
        self.assertEqual(events[0]["event"], "ready")
        result = events[-1]
        self.assertEqual(result["event"], "result")
        self.assertEqual(len(result["steps_s"]), 3)
        self.assertEqual(len(result["losses"]), 3)
        mean = sum(result["steps_s"]) / 3
        self.assertAlmostEqual(
            sum(result["phases"].values()), mean, delta=0.02 * mean
        )

    def test_what_it_cannot_do_is_an_error(self):
        for words in (
            ["mixing=mixup"],
            ["optimizer=lamb"],
            ["library=torch_magic", "batch_size=1"],
        ):
            (last,) = run(*words)[-1:]
            self.assertEqual(last["event"], "error", words)
            self.assertEqual(last["kind"], "failed")


if __name__ == "__main__":
    unittest.main()
