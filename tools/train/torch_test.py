#!/usr/bin/env python3
"""`train` with the processes that really train: needs libtorch.

    torch_test.py BAZEL_BIN [TEST...]

dev/checks/torch_model_test.sh runs it.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT
CHECKPOINT = ROOT / "testdata/eval/byte_lm_tiny.ckpt"
# Beside other work a profile in fp16 may say nothing for five minutes.
PATIENT = "--timeout=3600"
QUICK = ["--warmup-steps=2", "--measured-steps=4", "--batch-size=4", PATIENT]
# More threads than cores would wait for each other.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
LONG = unittest.skipUnless(
    os.environ.get("FEEDRATE_FULL"), "long: make test-full"
)


def run(tool, *arguments, code=0, within=(), **variables):
    """Standard output as records, and standard error."""
    done = subprocess.run(
        [*within, BIN / "tools" / tool / tool, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, **variables},
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout, done.stderr


def python_of(group):
    """The Python of an environment that is made, or None."""
    done = subprocess.run(
        [
            ROOT / "dev/python_env.sh",
            "--made",
            ROOT / f"configs/requirements/paper/{group}.lock",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return None
    return pathlib.Path(done.stdout.strip()) / "bin/python"


def rows(text):
    records = [json.loads(line) for line in text.splitlines()]
    return [r for r in records if r["record"] == "row"]


def train(*arguments, code=0, **variables):
    out, _ = run("train", *QUICK, *arguments, code=code, **variables)
    return rows(out)


class FolderTest(unittest.TestCase):
    """Has a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class TrainTest(FolderTest):
    def test_step_budget_adds_up(self):
        out, err = run("train", *QUICK, "--mixing=both")
        (row,) = rows(out)
        self.assertEqual(row["status"], "ok")
        budget = row["train"]["budget"]
        self.assertAlmostEqual(
            sum(budget.values()), row["train"]["step_time_mean"]
        )
        self.assertEqual(row["train"]["bound_by"], "compute")
        self.assertRegex(
            err.splitlines()[-1],
            r"^train: feedrate vit5_tiny fp32 batch 4 is compute-bound: "
            r"(forward|backward) is [\d.]+% of the step.*"
            r"(mostly|longest kernel) \S.* \([\d.]+% of it\)$",
        )
        for part in ("forward_s", "backward_s", "optimizer_s", "mixing_s"):
            self.assertGreater(budget[part], 0)
        self.assertLess(
            budget["unattributed_s"], 0.02 * row["train"]["step_time_mean"]
        )
        self.assertTrue(row["train"]["optimizer_in_step"])
        self.assertEqual(row["train"]["peak_source"], "measured")
        self.assertGreater(row["train"]["mfu_exact"], 0)
        self.assertLess(row["train"]["mfu_exact"], 1)

    def test_kernels_are_split_by_part_and_shape(self):
        (row,) = train()
        self.assertEqual(row["train"]["profiled_steps"], 1)
        kernels = row["train"]["kernels"]
        # Every layer has its products in both directions, and the backward
        # pass has two for each of the forward pass.
        shapes = {
            part: [
                kernel["shapes"]
                for kernel in kernels
                if kernel["part"] == part
                and kernel["name"] in ("aten::mm", "aten::addmm", "aten::bmm")
            ]
            for part in ("forward", "backward")
        }
        for part, found in shapes.items():
            self.assertGreater(len(found), 0, part)
            self.assertRegex(found[0], r"^\d+(x\d+)*, \d+x\d+")
        attention = {
            kernel["name"]: kernel["part"]
            for kernel in kernels
            if "attention" in kernel["name"]
        }
        for name, part in attention.items():
            self.assertEqual(part == "backward", name.endswith("backward"))
        seconds = sum(kernel["step_s"] for kernel in kernels)
        self.assertLess(seconds, 10 * row["train"]["step_time_mean"])

    def test_torch_is_linked_before_opencv(self):
        """OpenCV brings Debian's reference BLAS along. In the arm64 wheel the
        BLAS is a library as far from the program as that one, so the order of
        these two decides; libtorch_cpu.so for x86-64 has it inside."""
        done = subprocess.run(
            ["readelf", "-d", BIN / "lib/model/worker/worker_train"],
            capture_output=True,
            text=True,
            check=True,
        )
        needed = re.findall(r"\(NEEDED\).*\[(\w+)", done.stdout)
        self.assertLess(
            needed.index("libtorch_cpu"), needed.index("libopencv_imgproc")
        )

    def test_matrix_products_are_torchs_own(self):
        (row,) = train()
        torch = subprocess.run(
            [ROOT / "third_party/torch/find_torch.sh"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        blas = row["train"]["blas"]
        self.assertTrue(list(pathlib.Path(torch).parent.rglob(blas)), blas)
        # Whatever puts another one in front is refused, and eval refuses too.
        (row,) = train(code=2, LD_PRELOAD="libblas.so.3")
        self.assertEqual(row["status"], "failed")
        self.assertRegex(row["reason"], "^sgemm_ comes from .*/libblas.so.3 ")
        _, err = run(
            "eval",
            f"--checkpoint={CHECKPOINT}",
            code=2,
            LD_PRELOAD="libblas.so.3",
        )
        self.assertIn("sgemm_ comes from", err)

    @unittest.skipUnless(
        python_of("torch_stack"), "make envs GROUPS=torch_stack"
    )
    @LONG
    def test_matrix_products_are_as_fast_as_torchs(self):
        """Which BLAS is bound, not how fast it is: the wrong one is five times
        slower, a busy machine up to two. Each library has its best step of
        three alternating runs."""
        best = {}
        for _ in range(3):
            for row in train(
                "--libraries=feedrate,torch_eager",
                "--threads=1",
                "--batch-size=8",
                "--measured-steps=20",
            ):
                self.assertEqual(row["status"], "ok", row["reason"])
                best.setdefault(row["library"], []).extend(row["samples_s"])
        ratio = min(best["torch_eager"]) / min(best["feedrate"])
        self.assertGreater(ratio, 0.4)

    def test_bf16_is_held_against_fp32(self):
        result = train("--sweep=precision=fp32,bf16;batch_size=2,4")
        peaks = {}
        for row in result:
            training = row["train"]
            precision = training["precision"]
            self.assertEqual(list(training["matmul_types"]), [precision])
            self.assertNotIn("loss_scale", training)
            peaks.setdefault(precision, set()).add(training["peak_tflops"])
            if precision == "bf16":
                self.assertIn("speedup_over_fp32", training)
        # One peak per precision, for all of its rows.
        self.assertEqual([len(values) for values in peaks.values()], [1, 1])

    def test_fp16_scales_the_loss(self):
        (row,) = train("--precision=fp16", "--threads=1")
        self.assertEqual(list(row["train"]["matmul_types"]), ["fp16"])
        self.assertEqual(row["train"]["precision"], "fp16")
        # 65,536 at the beginning, half as much after each skipped step.
        self.assertIn("skipped_steps", row["train"])
        self.assertLessEqual(row["train"]["loss_scale"], 65536)

    def test_clipping_changes_the_next_losses(self):
        (plain,) = train("--threads=1", "--warmup-steps=0")
        (clipped,) = train("--threads=1", "--warmup-steps=0", "--clip-norm=0.1")
        self.assertEqual(clipped["train"]["clip_norm"], 0.1)
        self.assertEqual(
            plain["train"]["losses"][0], clipped["train"]["losses"][0]
        )
        self.assertNotEqual(
            plain["train"]["losses"][-1], clipped["train"]["losses"][-1]
        )
        # The norm is that before clipping.
        self.assertGreater(clipped["train"]["grad_norm"], 0.1)

    def test_two_processes_are_one_with_twice_the_batch(self):
        alone, both = train("--world-size=2", "--threads=1")
        self.assertIn("scaling_efficiency", both["train"])
        (double,) = train("--batch-size=8", "--threads=1")
        for a, b in zip(
            both["train"]["losses"], double["train"]["losses"], strict=True
        ):
            self.assertAlmostEqual(a, b, delta=2e-3 * b)
        self.assertEqual(alone["train"]["world_size"], 1)

    def test_a_process_that_dies_ends_the_others(self):
        worker = BIN / "lib/model/worker/worker_train"
        script = self.folder / "worker_train"
        script.write_text(
            "#!/bin/sh\n"
            'case "$*" in *rank=1*) set -- "$@" die_at_step=3 ;; esac\n'
            f'exec {worker} "$@"\n'
        )
        script.chmod(0o755)
        ENVIRONMENT["FEEDRATE_WORKERS"] = str(self.folder)
        try:
            alone, last = train("--world-size=2", "--threads=1")
        finally:
            del ENVIRONMENT["FEEDRATE_WORKERS"]
        self.assertEqual(last["status"], "crashed")
        self.assertIn("process 1 of 2: killed by SIGKILL", last["reason"])
        # The others end within 10 s (docs/train.md). Both start and step as one
        # alone does until then, on the same processors.
        self.assertLess(last["duration_s"], 10 + 2 * alone["duration_s"])

    def test_profile_has_the_named_ranges(self):
        prefix = self.folder / "trace"
        out, err = run(
            "train",
            *QUICK,
            "--profile=trace",
            f"--profile-output={prefix}",
            "--profile-active=2",
            "--sweep=batch_size=1,2",
        )
        self.assertTrue((self.folder / "trace-2.0.json").exists())
        trace = json.loads((self.folder / "trace.0.json").read_text())
        names = {event.get("name") for event in trace["traceEvents"]}
        for name in ("data", "forward", "loss", "backward", "optimizer_step"):
            self.assertIn(name, names)
        self.assertIn("longest kernels, mean of 2 profiled steps", err)
        run(
            "train",
            *QUICK,
            "--profile=tb",
            f"--profile-output={self.folder}/new/tb",
            "--profile-repeat=2",
            "--profile-wait=0",
        )
        self.assertEqual(
            sorted(os.listdir(self.folder / "new/tb")),
            ["rank0.0.pt.trace.json", "rank0.1.pt.trace.json"],
        )

    def test_every_process_is_profiled_with_its_gradient_sync(self):
        prefix = self.folder / "trace"
        train(
            "--world-size=2",
            "--threads=1",
            "--profile=trace",
            f"--profile-output={prefix}",
            "--profile-active=1",
        )
        for name in ("trace.0.json", "trace.rank1.0.json"):
            trace = json.loads((self.folder / name).read_text())
            names = {event.get("name") for event in trace["traceEvents"]}
            self.assertIn("grad_sync", names)

    @unittest.skipUnless(
        python_of("torch_stack"), "make envs GROUPS=torch_stack"
    )
    def test_pytorch_is_a_row_beside_ours(self):
        ours, peer = train("--libraries=feedrate,torch_eager", "--threads=1")
        self.assertEqual(peer["status"], "ok", peer["reason"])
        self.assertEqual(
            peer["train"]["parameters"], ours["train"]["parameters"]
        )
        self.assertGreater(peer["train"]["budget"]["backward_s"], 0)
        # What it cannot do is a row as well.
        (failed,) = train("--libraries=torch_eager", "--optimizer=lamb", code=2)
        self.assertEqual(failed["status"], "failed")
        self.assertIn("AdamW", failed["reason"])

    @unittest.skipUnless(
        python_of("torch_stack"), "make envs GROUPS=torch_stack"
    )
    def test_pytorch_is_profiled_like_ours(self):
        prefix = self.folder / "trace"
        out, err = run(
            "train",
            *QUICK,
            "--libraries=feedrate,torch_eager",
            "--profile=trace",
            f"--profile-output={prefix}",
            "--profile-active=1",
        )
        ours, peer = rows(out)
        for row in (ours, peer):
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertEqual(row["train"]["matmul_types"], {"fp32": 61})
            parts = {kernel["part"] for kernel in row["train"]["kernels"]}
            self.assertLessEqual({"forward", "backward"}, parts)
            self.assertEqual(row["train"]["profiled_steps"], 1)
        self.assertEqual(ours["train"]["method"], "")
        self.assertEqual(peer["train"]["method"], "eager")
        for name in ("trace.0.json", "trace.torch_eager.0.json"):
            json.loads((self.folder / name).read_text())
        self.assertEqual(err.count("longest kernels, mean of 1 profiled"), 2)
        self.assertRegex(
            err.splitlines()[-1],
            r"^train: torch_eager .*(mostly|longest kernel) \S+",
        )

    def test_what_diverged_has_no_numbers(self):
        checkpoint = self.folder / "good.ckpt"
        checkpoint.write_text("as it was")
        # Not at once, so that a checkpoint could replace the old one.
        (row,) = train(
            "--learning-rate=100",
            "--model=byte_lm_tiny",
            "--precision=fp32",
            "--optimizer=lamb",
            "--measured-steps=40",
            f"--checkpoint={checkpoint}",
            "--checkpoint-every=1000",
            code=2,
        )
        self.assertEqual(row["status"], "diverged")
        self.assertRegex(
            row["reason"], r"^the (loss|gradient norm) of step \d+ is "
        )
        self.assertNotIn("train", row)
        self.assertEqual(checkpoint.read_text(), "as it was")

    def test_a_config_is_planned(self):
        flags = [
            f"--config={ROOT}/configs/demo_train.textproto",
            "--batch-size=4",
            "--measured-steps=2",
            "--warmup-steps=0",
        ]
        out, err = run("train", *flags)
        plain, half = rows(out)
        self.assertEqual(plain["train"]["warmup_steps"], 0)
        self.assertEqual(half["train"]["precision"], "bf16")
        self.assertIn("vit5_tiny", err)

    @LONG
    def test_batches_double_until_memory_is_out(self):
        out, err = run(
            "train",
            "--warmup-steps=0",
            "--measured-steps=1",
            "--batch-size=16",
            "--find-batch-size",
            "--memory-limit=700M",
        )
        result = rows(out)
        self.assertEqual(result[-1]["status"], "oom")
        self.assertGreater(len(result), 1)
        self.assertIn("largest that fits", result[-1]["reason"])

    def test_deterministic_trainings_are_the_same(self):
        (first,) = train("--threads=1", "--deterministic")
        (second,) = train("--threads=1", "--deterministic")
        self.assertEqual(first["settings"]["deterministic"], "1")
        self.assertEqual(first["train"]["losses"], second["train"]["losses"])

    def test_activation_checkpointing_learns_the_same(self):
        (plain,) = train("--threads=1")
        (lean,) = train("--threads=1", "--activation-checkpointing")
        for a, b in zip(
            plain["train"]["losses"], lean["train"]["losses"], strict=True
        ):
            self.assertAlmostEqual(a, b, delta=1e-3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
