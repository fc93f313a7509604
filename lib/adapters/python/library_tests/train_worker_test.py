"""PyTorch's peers of worker_train: needs the environment of torch."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import process_setup

HERE = pathlib.Path(__file__).resolve().parent.parent


def run(*words, **variables):
    done = subprocess.run(
        [sys.executable, "-B", HERE / "train_worker.py", *words, "threads=1"],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def result_of(*words, **variables):
    few = ("batch_size=2", "warmup=0", "steps=3", "rates=0")
    result = run(*few, *words, **variables)[-1]
    assert result["event"] == "result", result
    return result


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

    def test_a_profile_is_like_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            result = result_of(
                "profile=trace",
                f"profile_prefix={folder}/t",
                "profile_active=2",
            )
            file = f"{folder}/t.torch_eager.0.json"
            self.assertEqual(result["traces"], [file])
            events = json.loads(pathlib.Path(file).read_text())["traceEvents"]
            tb = result_of(
                "profile=tb",
                f"profile_prefix={folder}/new/tb",
                "profile_repeat=2",
            )
            self.assertEqual(
                [pathlib.Path(name).name for name in tb["traces"]],
                ["rank0.0.pt.trace.json", "rank0.1.pt.trace.json"],
            )
            self.assertEqual(tb["profiled_steps"], 6)
        names = {event.get("name") for event in events}
        for name in ("data", "forward", "loss", "backward", "optimizer_step"):
            self.assertIn(name, names)
        self.assertEqual(result["profiled_steps"], 2)
        kernels = result["kernels"]
        self.assertEqual(len(kernels), 30)
        times = [kernel["step_s"] for kernel in kernels]
        self.assertEqual(times, sorted(times, reverse=True))
        for kernel in kernels:
            self.assertIn(
                kernel["part"],
                ("data", "forward", "loss", "backward", "optimizer", "other"),
            )
        products = [k for k in kernels if k["name"] == "aten::mm"]
        self.assertIn("backward", {kernel["part"] for kernel in products})
        self.assertRegex(products[0]["shapes"], r"^\d+x\d+, \d+x\d+")

    def test_products_run_in_the_precision(self):
        for precision in ("fp32", "bf16", "fp16"):
            result = result_of(f"precision={precision}")
            # Four blocks of four products and attention, the patches and the
            # head; the gradient of the image is not needed.
            self.assertEqual(result["matmul_types"], {precision: 61}, precision)
            self.assertEqual("loss_scale" in result, precision == "fp16")

    def test_a_loss_scale_that_is_too_large_skips_steps(self):
        result = result_of("precision=fp16", "learning_rate=1e30")
        # After the first step, weights are so large that nothing is finite.
        self.assertEqual(result["skipped_steps"], 2)
        self.assertEqual(result["loss_scale"], 65536 / 4)

    def test_clipped_gradients_are_those_of_pytorch(self):
        plain = result_of()
        clipped = result_of("clip_norm=0.1")
        self.assertEqual(plain["losses"][0], clipped["losses"][0])
        self.assertEqual(plain["grad_norms"][0], clipped["grad_norms"][0])
        self.assertNotEqual(plain["losses"][2], clipped["losses"][2])

    def test_bf16_weights_learn_what_autocast_learns(self):
        """Without compiling, which takes minutes."""
        words = ["precision=bf16", "steps=20", "learning_rate=3e-3"]
        plain = result_of(*words)
        weights = result_of(
            *words, "library=torch_compile_bf16", TORCH_COMPILE_DISABLE="1"
        )
        self.assertEqual(plain["method"], "eager; bf16 by autocast")
        self.assertIn("fp32 masters", weights["method"])
        self.assertEqual(list(weights["matmul_types"]), ["bf16"])
        self.assertLess(weights["losses"][-1], 0.7 * weights["losses"][0])
        for i, loss in enumerate(plain["losses"]):
            self.assertAlmostEqual(
                loss, weights["losses"][i], delta=0.1 * loss + 0.02
            )

    def test_a_subject_is_trained_and_its_operations_are_counted(self):
        examples = str(HERE.parents[2] / "examples")
        words = ("subject=my_model:build", "batch_size=16")
        for engine, method in (
            ("eager", "eager"),
            ("compile", "torch.compile, mode default"),
        ):
            result = result_of(
                *words,
                f"engine={engine}",
                PYTHONPATH=examples,
                # Compiling takes minutes.
                TORCH_COMPILE_DISABLE="1",
            )
            self.assertEqual(
                (result["engine"], result["method"]), (engine, method)
            )
            self.assertEqual(result["parameters"], 23882)
            self.assertLess(result["losses"][-1], result["losses"][0])
            # Two per product: convolutions forward, by their weights and, all
            # but the first, by their inputs.
            first, second = 23**2 * 32 * 3 * 7**2, 11**2 * 64 * 32 * 3**2
            self.assertEqual(
                result["flops_per_step"],
                2 * 16 * (2 * first + 3 * second + 3 * 64 * 10),
            )

    def test_a_subject_that_fails_names_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "mine.py").write_text(
                "def breaks(batch_size):\n    raise ValueError('on purpose')\n"
                "def wrong():\n    return 1\n"
            )
            for name, words in (
                ("breaks", "ValueError: on purpose"),
                ("wrong", "returns no (model, loss, (inputs, targets))"),
            ):
                (last,) = run(f"subject=mine:{name}", PYTHONPATH=folder)[-1:]
                self.assertIn(words, last["error"])
                self.assertEqual(last["kind"], "failed")

    def test_what_diverged_is_no_result(self):
        last = run(
            "batch_size=2",
            "warmup=1",
            "steps=5",
            "rates=0",
            "model=byte_lm_tiny",
            "learning_rate=1e30",
        )[-1]
        self.assertEqual(last["kind"], "diverged", last)
        self.assertRegex(
            last["error"], r"^the (loss|gradient norm) of step [23] is "
        )
        # A user's model too, whatever its loss is: no number is 0.
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "blows_up.py").write_text(
                "import torch\n"
                "class Loss:\n"
                "    calls = 0\n"
                "    def __call__(self, output, target):\n"
                "        self.calls += 1\n"
                "        factor = float('inf') if self.calls == 5 else 1.0\n"
                "        return (output - target).square().mean() * factor\n"
                "def build(batch_size, device, seed):\n"
                "    ones = torch.ones(batch_size, 4)\n"
                "    batch = ones, torch.zeros(batch_size, 1)\n"
                "    return torch.nn.Linear(4, 1), Loss(), batch\n"
            )
            last = run(
                "subject=blows_up:build",
                "batch_size=2",
                "warmup=2",
                "steps=4",
                "rates=0",
                PYTHONPATH=folder,
            )[-1]
        self.assertEqual(last["kind"], "diverged", last)
        # One call counted operations before.
        self.assertIn("the loss of step 4 is infinite", last["error"])

    def test_what_it_cannot_do_is_an_error(self):
        for words in (
            ["library=torch_compile_bf16"],
            ["mixing=mixup"],
            ["optimizer=lamb"],
            ["library=torch_magic", "batch_size=1"],
            ["engine=eager"],
            ["subject=a:b", "engine=fused"],
        ):
            (last,) = run(*words)[-1:]
            self.assertEqual(last["event"], "error", words)
            self.assertEqual(last["kind"], "failed")


if __name__ == "__main__":
    unittest.main()
