#!/usr/bin/env python3
"""`eval` of language models, and the gate on what they learned.

    eval_test.py BAZEL_BIN [TEST...]

dev/checks/torch_model_test.sh runs it.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from torch_test import (
    BIN,
    CHECKPOINT,
    ENVIRONMENT,
    LONG,
    ROOT,
    python_of,
    run,
)

SCRIPT = """
import torch

class Next(torch.nn.Module):
    # The token after this one, for sure.
    def __init__(self, size: int):
        super().__init__()
        self.size = size
        self.scale = torch.nn.Parameter(torch.tensor(30.0))

    def forward(self, tokens):
        after = (tokens + 1) % self.size
        return self.scale * torch.nn.functional.one_hot(
            after, self.size
        ).float()

torch.jit.script(Next({size})).save("{path}")
"""


@unittest.skipUnless(python_of("torch_stack"), "make envs GROUPS=torch_stack")
class ScriptTest(unittest.TestCase):
    """Language models that others saved as TorchScript."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def evaluate(self, size, text, prompt, *flags):
        model = self.folder / "model.pt"
        # In a file: TorchScript reads the source of what it compiles.
        script = self.folder / "make.py"
        script.write_text(SCRIPT.format(size=size, path=model))
        subprocess.run(
            [python_of("torch_stack"), script],
            env={**ENVIRONMENT, "NVPL_BLAS_DEBUG_CPU_TYPE": "1"},
            check=True,
        )
        shard = self.folder / "shard.txt"
        shard.write_text(text)
        probe = self.folder / "probe.jsonl"
        probe.write_text(json.dumps({"prompt": prompt, "answer": "x"}) + "\n")
        out, _ = run(
            "eval",
            f"--checkpoint={model}",
            f"--shard={shard}",
            f"--probes={probe}",
            *flags,
        )
        return json.loads(out)

    def test_bytes(self):
        record = self.evaluate(256, "abcdefgh", "abc")
        self.assertEqual(record["model"], "torchscript")
        self.assertEqual(record["parameters"], 1)
        self.assertEqual(record["shard_bytes"], 7)
        self.assertAlmostEqual(record["perplexity"], 1, places=6)
        self.assertEqual(
            record["probes"][0]["answers"], ["defghijklmnopqrstuvwxyz{"]
        )

    def test_tokens_of_a_file(self):
        tokens = self.folder / "tokens.txt"
        tokens.write_text("a\nbc\nbcd\n\\n\n")
        record = self.evaluate(
            4, "abc\na", "abc", f"--tokenizer={tokens}", "--window=8"
        )
        # a, bc, newline, a: only bc after a is what the model expects, and a
        # after newline; bytes are counted, not tokens.
        self.assertEqual(record["shard_bytes"], 4)
        self.assertAlmostEqual(record["loss"], 30 / 4, places=3)
        self.assertEqual(record["probes"][0]["answers"], ["bcd"])


@unittest.skipUnless(CHECKPOINT.exists(), f"no {CHECKPOINT}")
class EvalTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def test_two_runs_agree_and_worse_weights_do_not(self):
        expected = ROOT / "testdata/eval/expected.json"
        good = self.folder / "good.json"
        bad = self.folder / "bad.json"
        first, _ = run(
            "eval",
            f"--checkpoint={CHECKPOINT}",
            f"--expect={expected}",
            f"--eval-json={good}",
        )
        # It writes no file, least of all under a name that others can guess.
        second, _ = run("eval", f"--checkpoint={CHECKPOINT}", TMPDIR="/nowhere")
        self.assertEqual(first, second)
        record = json.loads(first)
        self.assertEqual(
            [probe["name"] for probe in record["probes"]],
            ["basic_reasoning_25", "format_following_30", "code_sanity_20"],
        )
        for probe in record["probes"]:
            self.assertGreaterEqual(probe["accuracy"], 30, probe)
            self.assertLessEqual(probe["accuracy"], 90, probe)

        _, err = run(
            "eval",
            f"--checkpoint={self.worsen()}",
            f"--expect={expected}",
            f"--eval-json={bad}",
            code=3,
        )
        self.assertIn("perplexity is", err)
        profile = json.loads(good.read_text())["machine_profile"]
        baselines = self.folder / "baselines"
        baselines.mkdir()
        shutil.copy(good, baselines / f"{profile}.eval.json")
        (self.folder / "none.jsonl").write_text("")
        for file, code in ((good, 0), (bad, 3)):
            run(
                "compare_baseline",
                f"--current={self.folder}/none.jsonl",
                f"--eval={file}",
                f"--baselines={baselines}",
                code=code,
            )

    def gate(self, *codes, **variables):
        done = subprocess.run(
            [
                ROOT / "dev/perf_gate.sh",
                "--warmup-steps=1",
                "--measured-steps=3",
                "--batch-size=2",
            ],
            capture_output=True,
            text=True,
            env={
                **ENVIRONMENT,
                "BIN": str(BIN),
                "OUT": str(self.folder / "gate"),
                **variables,
            },
            check=False,
        )
        self.assertIn(done.returncode, codes, done.stdout + done.stderr)
        return done.stdout

    @LONG
    def test_perf_gate_leaves_its_files_and_judges_the_next(self):
        # A first baseline is made by somebody who may: this folder is in no
        # checkout.
        self.gate(1)
        self.assertEqual(
            list((self.folder / "gate/baselines").glob("*.json")), []
        )
        # 4: beside other load, times cannot be told.
        self.gate(0, 4, MAINTAINER="the test")
        updates = (self.folder / "gate/baselines").glob("*.updates.jsonl")
        self.assertIn("the test", next(updates).read_text())
        for name in ("env.json", "metrics.json", "eval.json"):
            json.loads((self.folder / "gate" / name).read_text())
        verdict = self.gate(3, CHECKPOINT=str(self.worsen()))
        self.assertIn("perplexity", verdict)

    def test_a_damaged_checkpoint_is_refused(self):
        whole = CHECKPOINT.read_bytes()
        flipped = bytearray(whole)
        flipped[len(flipped) // 2] ^= 1
        damaged = self.folder / "damaged.ckpt"
        for content in (whole[:-100], flipped):
            damaged.write_bytes(content)
            _, err = run("eval", f"--checkpoint={damaged}", code=1)
            self.assertIn(f"{damaged}: is damaged", err)
        # One of an older version cannot tell.
        rest = bytes(flipped).split(b"\n", 2)[2]
        damaged.write_bytes(b"feedrate_checkpoint 1\n" + rest)
        _, err = run("eval", f"--checkpoint={damaged}")
        self.assertIn(f"{damaged}: has no checksum", err)

    def test_wrong_files_are_named(self):
        text = self.folder / "text.ckpt"
        text.write_text("no checkpoint")
        empty = self.folder / "empty"
        empty.write_text("")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for flag, said in (
            (f"--checkpoint={text}", "is neither a checkpoint of train nor"),
            (f"--checkpoint={pipe}", "is a named pipe"),
            (f"--shard={pipe}", "is a named pipe"),
            (f"--shard={empty}", "has less than two tokens"),
            ("--tokenizer=/none", "byte_lm_tiny reads bytes"),
            ("--window=257", "the model sees 256 tokens"),
            ("--seed=-1", "must be at least 0"),
        ):
            flags = [f"--checkpoint={CHECKPOINT}", flag]
            _, err = run("eval", *flags, code=1)
            self.assertIn(said, err)
            self.assertEqual(err.count("\n"), 1)
        # As far as it is looked at before it is loaded, a TorchScript module.
        text.write_text("PK")
        long = self.folder / "long.txt"
        long.write_text("a\n" + "b" * 2000)
        for tokens, said in (
            ("/none", "/none"),
            (empty, "has no tokens"),
            (long, f"{long}:2: is longer than 1024 bytes"),
        ):
            flags = [f"--checkpoint={text}", f"--tokenizer={tokens}"]
            _, err = run("eval", *flags, code=1)
            self.assertIn(said, err)

    def worsen(self):
        """A checkpoint with some weights of the middle set to large values,
        0x3F3F3F3F, wherever in the file they begin. Its checksum is right."""
        first, _, rest = CHECKPOINT.read_bytes().split(b"\n", 2)
        content = bytearray(rest)
        middle = len(content) // 2
        content[middle : middle + 40000] = b"\x3f" * 40000
        path = self.folder / "worse.ckpt"
        digest = hashlib.sha256(content).hexdigest().encode()
        path.write_bytes(b"\n".join([first, b"sha256 " + digest, content]))
        return path


if __name__ == "__main__":
    unittest.main(verbosity=2)
