#!/usr/bin/env python3
"""mixture from end to end: the real program, its records and exit codes."""

import collections
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

MIXTURE = "tools/mixture/mixture"
CONFIG = "configs/mixture/demo.textproto"
TINY = "synthetic:episodes,datasets=4,episodes=4,frames=12,scale=20,shards=2"
SHORT = "samples_per_episode=2;steps=12;warmup=2;frame_size=32"


class Run(harness.Run):
    def __init__(self, *flags, dataset=TINY, sweep=SHORT, **environment):
        super().__init__(
            [
                MIXTURE,
                f"--config={CONFIG}",
                f"--dataset={dataset}",
                f"--sweep={sweep}",
                "--batch_size=16",
                *harness.PLANNED_RUNS,
                *flags,
            ],
            env={**harness.environment(), **environment},
        )

    @property
    def rows(self):
        return [r for r in self.records if r["record"] == "row"]

    @property
    def batches(self):
        return [r for r in self.records if r["record"] == "batch"]


def without_times(batches):
    kept = ("batch_index", "items", "counts", "dominant", "first_seen")
    return [{name: b[name] for name in kept} for b in batches]


class MixtureTest(harness.TestCase):
    def dataset(self):
        """The tiny mixture in a folder of its own, to be damaged."""
        cache = pathlib.Path(harness.environment()["XDG_CACHE_HOME"])
        made = Run(sweep=SHORT)
        self.assertEqual(made.code, 0, made.stderr)
        source = next((cache / "feedrate/synthetic").glob("episodes-*"))
        copy = self.folder / "episodes"
        shutil.copytree(source, copy)
        return copy

    def real_data(self):
        """Data sets that tensorflow-datasets and lerobot wrote."""
        folder = self.folder / "real"
        folder.mkdir()
        data = pathlib.Path("lib/loader/mixture/testdata").resolve()
        sets = {"arm": "rlds/arm", "new": "lerobot/new", "old": "lerobot/old"}
        for name, path in sets.items():
            (folder / name).symlink_to(data / path)
        weights = {"arm": 3, "new": 2, "old": 1}
        (folder / "mixture.textproto").write_text(
            "".join(
                f'weights {{ dataset: "{name}" weight: {weight} }}\n'
                for name, weight in weights.items()
            )
        )
        return folder

    def test_rlds_and_lerobot_are_mixed(self):
        folder = self.real_data()
        sweep = f"{SHORT};metadata=full;action_chunk=4"
        run = Run("--on_error=fail", dataset=folder, sweep=sweep)
        self.assertEqual(run.code, 0, run.stderr)
        for row in run.rows:
            self.assertEqual(row["status"], "ok", row["reason"])
            shares = {s["dataset"]: s for s in row["mixture"]["shares"]}
            self.assertEqual(sorted(shares), ["arm", "new", "old"])
            for share in shares.values():
                self.assertGreater(share["sample_share"], 0)
            images = {name: share["image"] for name, share in shares.items()}
            self.assertEqual(images["arm"], "steps/observation/image")
            self.assertEqual(images["new"], "observation.images.top")
            # The videos count, and there is no limit for them.
            self.assertGreater(row["dataset"]["files"], 15)
            self.assertNotIn("limit", row)

    def test_rlds_and_lerobot_are_audited(self):
        run = Run("--audit", dataset=self.real_data())
        self.assertEqual(run.code, 0, run.stderr)
        (audit,) = [r for r in run.records if r["record"] == "audit"]
        self.assertEqual(audit["verdict"], "pass", audit["faults"])
        self.assertTrue(audit["resumes"][0]["same_batches"])

    def test_an_audit_tests_the_weights(self):
        run = Run("--audit", "--resumes=3")
        self.assertEqual(run.code, 0, run.stderr)
        (audit,) = [r for r in run.records if r["record"] == "audit"]
        self.assertEqual(audit["verdict"], "pass", audit["faults"])
        streams = [w["stream"] for w in audit["weights"]]
        ranks = [f"rank {i} of 4" for i in range(4)]
        self.assertEqual(streams, [*ranks, "resumed"])
        for weights in audit["weights"]:
            self.assertEqual(weights["draws"], 14 * 16 // 4)
            self.assertGreater(weights["p_value"], 0.001)
        after = [resume["after_batches"] for resume in audit["resumes"]]
        self.assertEqual(after, [3, 7, 10])
        for resume in audit["resumes"]:
            self.assertTrue(resume["same_batches"])
        # The interrupted stream is that of rank 0.
        first, resumed = audit["weights"][0], audit["weights"][-1]
        self.assertEqual(first["chi_square"], resumed["chi_square"])
        self.assertNotEqual(
            first["chi_square"], audit["weights"][1]["chi_square"]
        )
        self.assertIn("rank 3 of 4", run.stderr)

    def test_rows_and_batches(self):
        run = Run("--num_runs=2", "--label=lab", "--note=remark")
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual([r["record"] for r in run.records[:2]], ["env", "run"])
        self.assertEqual([r["run_index"] for r in run.rows], [0, 1])
        for row in run.rows:
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertEqual(row["unit"], "sample")
            self.assertEqual(row["items"], 12 * 16)
            self.assertEqual(len(row["samples_s"]), 12)
            self.assertIn("indicative", row["labels"])
            self.assertEqual(row["limit"]["name"], "jpeg_decode")
            self.assertGreater(row["of_limit"], 0)
            self.assertGreater(row["cache"]["resident_fraction"], 0.9)
            self.assertNotIn("cold", row["labels"])
            self.assertGreater(row["rss_peak_bytes"], 1e6)
            mixture = row["mixture"]
            self.assertEqual(mixture["label"], "lab")
            self.assertEqual(mixture["note"], "remark")
            self.assertEqual(mixture["batches"], 12)
            self.assertEqual(mixture["datasets"], 4)
            self.assertFalse(mixture["teardown_killed"])
            self.assertEqual(mixture["skipped"], 0)
            self.assertAlmostEqual(
                sum(s["sample_share"] for s in mixture["shares"]), 1
            )
            batches = [
                b for b in run.batches if b["run_index"] == row["run_index"]
            ]
            self.assertEqual([b["batch_index"] for b in batches], [*range(14)])
            self.assertEqual(
                [b["warmup"] for b in batches][:3], [True, True, False]
            )
            self.check_recount(row, batches)

    def check_recount(self, row, batches):
        """The row's numbers by another way than the program's."""
        measured = [b for b in batches if not b["warmup"]]
        samples = collections.Counter()
        for batch in measured:
            self.assertEqual(
                sum(c["samples"] for c in batch["counts"]), batch["items"]
            )
            for count in batch["counts"]:
                samples[count["dataset"]] += count["samples"]
            most = max(c["samples"] for c in batch["counts"])
            first = next(c for c in batch["counts"] if c["samples"] == most)
            self.assertEqual(batch["dominant"], first["dataset"])
        total = sum(samples.values())
        mixture = row["mixture"]
        error = sum(
            abs(samples[s["dataset"]] / total - s["weight_share"])
            for s in mixture["shares"]
        )
        self.assertAlmostEqual(mixture["mixture_error"], error / 2)
        dominant = [b["dominant"] for b in measured]
        switches = sum(
            a != b for a, b in zip(dominant[:-1], dominant[1:], strict=True)
        )
        self.assertAlmostEqual(
            mixture["dominant_switch_rate"], switches / (len(dominant) - 1)
        )
        self.assertEqual(mixture["unique_dominant"], len(set(dominant)))
        elapsed = measured[-1]["time_s"] - batches[1]["time_s"]
        self.assertAlmostEqual(row["elapsed_s"], elapsed)
        self.assertAlmostEqual(mixture["samples_per_s"], total / elapsed, 4)

    def test_the_same_mixture_for_any_parallelism(self):
        one = Run("--seed=5", sweep=SHORT + ";decode_parallelism=1")
        self.assertEqual(one.code, 0, one.stderr)
        many = Run(
            "--seed=5",
            sweep=SHORT
            + ";decode_parallelism=4;pipeline_interleave=4;queue_depth=2",
        )
        other = Run("--seed=6", sweep=SHORT + ";decode_parallelism=1")
        self.assertEqual(
            without_times(one.batches), without_times(many.batches)
        )
        self.assertNotEqual(
            without_times(one.batches), without_times(other.batches)
        )

    def test_settings_take_turns(self):
        run = Run("--num_runs=2", sweep=SHORT + ";metadata=none,full")
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual([r["run_index"] for r in run.rows], [0, 0, 1, 1])
        modes = [r["mixture"]["metadata"] for r in run.rows]
        self.assertEqual(set(modes[:2]), {"none", "full"})
        self.assertIn("metadata=full", run.stderr, "the sweep has a summary")

    def test_the_summary_compares_with_the_first_of_the_sweep(self):
        orders = set()
        # Another order of the rows for each seed.
        for seed in (1, 2, 3, 4):
            run = Run(f"--seed={seed}", sweep=SHORT + ";queue_depth=8,2,4")
            self.assertEqual(run.code, 0, run.stderr)
            orders.add(run.rows[0]["settings"]["queue_depth"])
            lines = [
                line
                for line in run.stderr.splitlines()
                if line.startswith("native queue_depth=")
            ]
            names = [line.split(":")[0].split("=")[1] for line in lines]
            self.assertEqual(names, ["8", "2", "4"], run.stderr)
            self.assertNotIn("of the first", lines[0])
            self.assertIn("of the first", lines[1])
        self.assertGreater(len(orders), 1, "no order differs: a weak test")

    def test_cold_is_proved_or_not_claimed(self):
        run = Run("--cold", "--num_runs=2", sweep=SHORT + ";queue_depth=2,4")
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(len(run.rows), 4)
        for row in run.rows:
            cache = row["cache"]
            if cache["resident_fraction"] <= 0.01:
                self.assertIn("cold", row["labels"])
                self.assertNotIn("partly_cold", row["labels"])
            else:
                # A file system in memory keeps its pages.
                self.assertIn("partly_cold", row["labels"])
                self.assertNotIn("cold", row["labels"])
            self.assertGreaterEqual(cache["bytes_read"], 0)
            self.assertEqual(row["items"], 12 * 16)

    def test_a_folder_gets_batches_beside_its_rows(self):
        out = self.folder / "out"
        run = Run(f"--output={out}/")
        self.assertEqual(run.code, 0, run.stderr)
        files = sorted(p.name for p in out.glob("episodes/mixture/*.jsonl"))
        self.assertEqual(len(files), 2, files)
        self.assertEqual(files[0], "batch_times.jsonl")
        lines = (out / "episodes/mixture/batch_times.jsonl").read_text()
        kinds = [json.loads(line)["record"] for line in lines.splitlines()]
        self.assertEqual(kinds.count("batch"), 14)
        again = Run(f"--output={out}/", "--resume")
        self.assertEqual(again.code, 0, again.stderr)
        self.assertIn("done already", again.stderr)
        elsewhere = self.folder / "b.jsonl"
        run = Run(f"--output={self.folder}/r.jsonl", f"--batches={elsewhere}")
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(elsewhere.read_text().count('"record":"batch"'), 14)

    def test_two_files_of_rows_in_one_folder(self):
        for name in ("a", "b"):
            run = Run(f"--output={self.folder}/{name}.jsonl")
            self.assertEqual(run.code, 0, run.stderr)
        for name in ("batch_times.jsonl", "b.batch_times.jsonl"):
            text = (self.folder / name).read_text()
            self.assertEqual(text.count('"record":"batch"'), 14, name)
        again = Run(f"--output={self.folder}/b.jsonl", "--resume")
        self.assertEqual(again.code, 0, again.stderr)

    def test_a_teardown_that_hangs_is_killed_and_the_row_stays(self):
        run = Run("--teardown_limit=0.3", FEEDRATE_TEARDOWN_DELAY_S="60")
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(run.rows[0]["status"], "ok")
        self.assertTrue(run.rows[0]["mixture"]["teardown_killed"])
        self.assertEqual(run.rows[0]["mixture"]["teardown_s"], 0.3)
        self.assertGreater(run.rows[0]["throughput"], 0)
        self.assertIn("was killed", run.stderr)

    def test_a_wrong_checksum(self):
        data = self.dataset()
        shard = sorted(data.glob("robot_01/*.tfrecord"))[0]
        broken = bytearray(shard.read_bytes())
        broken[200] ^= 1
        shard.write_bytes(broken)
        run = Run("--on_error=fail", dataset=str(data))
        self.assertEqual(run.code, 2, "no row was measured")
        self.assertEqual(run.rows[0]["status"], "failed")
        self.assertIn("wrong checksum", run.rows[0]["reason"])
        self.assertIn("run 0: failed: data set", run.stderr)
        self.assertIn(shard.name, run.rows[0]["reason"])
        run = Run(dataset=str(data))
        self.assertEqual(run.rows[0]["status"], "ok", run.rows[0]["reason"])
        self.assertGreater(run.rows[0]["mixture"]["skipped"], 0)
        self.assertIn("skipped over all passes, the first", run.stderr)
        # Nobody said that samples may be lost.
        self.assertEqual(run.code, 3, run.stderr)
        self.assertIn("use --on_error=skip to go without it", run.stderr)
        self.assertIn("skipped_files", run.rows[0]["labels"])
        self.assertIn("wrong checksum", run.rows[0]["reason"])
        run = Run("--on_error=skip", dataset=str(data))
        self.assertEqual(run.code, 0, run.stderr)
        self.assertIn("skipped_files", run.rows[0]["labels"])

    def test_weights(self):
        data = self.dataset()
        text = (data / "mixture.textproto").read_text()
        self.assertIn("robot_02", text)
        parts = text.split("weights {")
        parts[3] = ' dataset: "robot_02" weight: 0 }\n'
        (data / "mixture.textproto").write_text("weights {".join(parts))
        run = Run("--on_error=fail", dataset=str(data))
        self.assertEqual(run.code, 1)
        self.assertIn('data set "robot_02": weight 0', run.stderr)
        run = Run(dataset=str(data))
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(run.rows[0]["mixture"]["left_out"], ["robot_02"])
        self.assertEqual(run.rows[0]["mixture"]["skipped"], 1)
        self.assertEqual(run.rows[0]["mixture"]["datasets"], 3)

    def test_a_data_set_without_episodes(self):
        data = self.dataset()
        for shard in data.glob("robot_03/*.tfrecord"):
            shard.unlink()
        run = Run("--on_error=fail", dataset=str(data))
        self.assertEqual(run.rows[0]["status"], "failed")
        self.assertIn("no episode", run.rows[0]["reason"])
        run = Run(dataset=str(data))
        self.assertEqual(run.rows[0]["status"], "ok", run.rows[0]["reason"])
        self.assertEqual(run.rows[0]["mixture"]["left_out"], ["robot_03"])

    def test_a_folder_of_tensorflow_datasets(self):
        folder = self.dataset()
        version = folder / "robot_00/1.0.0"
        version.mkdir()
        for i, shard in enumerate(sorted(version.parent.glob("*.tfrecord"))):
            shard.rename(version / f"x-train.tfrecord-{i:05}-of-00002")
        # What it says is not in the records; the file says what is.
        (version / "features.json").write_text("{}")
        sweep = SHORT + ";metadata=full"
        run = Run(dataset=folder, sweep=sweep)
        self.assertEqual(run.code, 3, run.stderr)
        (row,) = run.rows
        self.assertEqual(row["mixture"]["left_out"], ["robot_00"])
        self.assertIn("no image below steps", run.stderr)
        weights = folder / "mixture.textproto"
        text = weights.read_text()
        named = (
            'features { image: "frames" action: "action" } dataset: "robot_00"'
        )
        weights.write_text(text.replace('dataset: "robot_00"', named))
        run = Run(dataset=folder, sweep=sweep)
        self.assertEqual(run.code, 0, run.stderr)
        (row,) = run.rows
        self.assertEqual(row["mixture"]["left_out"], [])
        first, second, *_ = row["mixture"]["shares"]
        filled = ["state", "instruction", "episode_id"]
        self.assertEqual(first["filled"], filled)
        self.assertEqual(second["filled"], [])

    def test_weights_can_be_imported(self):
        folder = self.folder / "data"
        (folder / "kuka").mkdir(parents=True)
        mixes = self.folder / "mixes.py"
        mixes.write_text(
            'A = [("no", 1)]\nB = [\n  ("kuka", 0.5),  # half\n'
            '  ("toto", 2),\n]\n'
        )
        run = harness.Run([MIXTURE, f"--import_mixture={mixes}:B"])
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(
            " ".join(run.stdout.split()),
            'weights { dataset: "kuka" weight: 0.5 }'
            ' weights { dataset: "toto" weight: 2 }',
        )
        run = harness.Run(
            [MIXTURE, f"--import_mixture={mixes}:B", f"--dataset={folder}"]
        )
        self.assertEqual(run.code, 0, run.stderr)
        self.assertIn(": toto\n", run.stdout)
        self.assertNotIn('"toto"', run.stdout)
        for wrong, words in (
            (f"{mixes}:C", 'has no list "C"'),
            (f"{folder}/none", "none"),
        ):
            run = harness.Run([MIXTURE, f"--import_mixture={wrong}"])
            self.assertEqual(run.code, 1)
            self.assertIn(words, run.stderr)

    def test_more_samples_than_frames(self):
        long = SHORT.replace("samples_per_episode=2", "samples_per_episode=100")
        run = Run("--on_error=fail", sweep=long)
        self.assertEqual(run.rows[0]["status"], "failed")
        self.assertIn("lower samples_per_episode", run.rows[0]["reason"])

    def test_mistakes_are_the_callers(self):
        for flags, text in [
            (("--on_error=maybe",), "on_error"),
            (("--verify",), "no transform to compare"),
            (("--teardown_limit=0",), "teardown_limit"),
            (("--workers=2",), "decode_parallelism=N"),
            (("--sample_ratio=0.5",), "--sample_ratio means nothing"),
        ]:
            run = Run(*flags)
            self.assertEqual(run.code, 1, flags)
            self.assertIn(text, run.stderr)
        run = Run(sweep="mix_block_length=0")
        self.assertEqual(run.code, 1)
        self.assertIn("mix_block_length", run.stderr)
        run = Run(dataset=str(self.folder / "nothing"))
        self.assertEqual(run.code, 1)
        self.assertIn("no such folder", run.stderr)
        run = Run(dataset="synthetic:rgb")
        self.assertEqual(run.code, 1)
        self.assertIn("synthetic:episodes,datasets=", run.stderr)
        run = Run(sweep="frame_size=0")
        self.assertEqual(run.code, 1)
        self.assertIn("frame_size is 0", run.stderr)
        # Said before anything is measured.
        run = Run(f"--batches={self.folder}/")
        self.assertNotEqual(run.code, 0)
        self.assertEqual(run.stdout, "")


if __name__ == "__main__":
    unittest.main()
