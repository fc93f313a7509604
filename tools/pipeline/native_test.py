#!/usr/bin/env python3
"""pipeline with the native loader: recipes, equivalence, faults, diagnosis."""

import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

PIPELINE = "tools/pipeline/pipeline"
STAGE = "tools/stage_dataset/stage_dataset"
RGB = "configs/native/rgb_pipeline_cpu.textproto"
NINE = "configs/native/9ch_pipeline_cpu.textproto"
TRAINING = "configs/native/training_pipeline_cpu.textproto"
SMALL = ("--num_items=12", "--batch_size=4", "--num_runs=1")
CONTAINERS = [
    "files",
    "shards",
    "tfrecord",
    "parquet",
    "arrays",
    "lmdb",
    "http",
]


class Run(harness.Run):
    def __init__(self, config, *flags):
        command = [PIPELINE, f"--config={config}", *harness.PLANNED_RUNS]
        super().__init__([*command, *flags], timeout=600)

    @property
    def rows(self):
        return harness.rows_of(self.records, "native")


class NativeTest(harness.TestCase):
    def check_rows(self, run, at_least):
        self.assertEqual(run.code, 0, run.stderr)
        rows = run.rows
        wrong = [
            (r["transform"], r["status"], r["reason"])
            for r in rows
            if r["status"] not in ("ok", "early_stopped")
        ]
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len({r["transform"] for r in rows}), at_least)
        return rows

    def test_every_rgb_recipe_from_files(self):
        run = Run(RGB, *SMALL, "--noworker_efficiency", "--noequivalence")
        for row in self.check_rows(run, 45):
            if row["status"] == "ok":
                self.assertEqual(row["items"], 12)
                self.assertEqual(row["loader"]["batches"], 3)

    # Keeps every processor busy for 10 s.
    @unittest.skipUnless(os.environ.get("FEEDRATE_FULL"), "make test-full")
    def test_short_epochs_next_to_load_are_contended(self):
        with harness.load():
            run = Run(
                RGB,
                *SMALL,
                "--quiet_wait=1",
                "--transforms=HorizontalFlip",
                "--noworker_efficiency",
                "--noequivalence",
            )
        rows = self.check_rows(run, 1)
        for row in rows:
            self.assertIn("contended", row["warnings"], row)
            self.assertIn("load", row["noise"]["causes"])
        self.assertRegex(run.stderr, rf"{len(rows)} runs? noisy")

    def test_every_recipe_of_nine_channels_from_memory(self):
        run = Run(NINE, *SMALL, "--noworker_efficiency", "--noequivalence")
        self.check_rows(run, 30)

    def test_training_recipes(self):
        run = Run(TRAINING, *SMALL, "--noworker_efficiency")
        rows = self.check_rows(run, 3)
        self.assertEqual(
            {r["equivalence"]["label"] for r in rows}, {"unchecked"}
        )

    def test_a_missing_folder_is_named_with_a_remedy(self):
        run = Run(RGB, "--dataset=/no/such/folder")
        self.assertEqual(run.code, 1)
        self.assertIn(
            "/no/such/folder: no such folder; name one with --dataset",
            run.stderr,
        )

    def test_flips_are_the_reference(self):
        for scope in ("memory_dataloader_augment", "decode_dataloader_augment"):
            run = Run(
                RGB,
                *SMALL,
                "--verify",
                "--format=jsonl",
                f"--scope={scope}",
                "--transforms=HorizontalFlip,CenterCrop224,Invert",
            )
            self.assertEqual(run.code, 0, run.stderr)
            for line in run.stdout.splitlines():
                found = json.loads(line)
                self.assertIn(
                    found["equivalence"]["label"],
                    ("exact", "equivalent"),
                    (scope, found),
                )

    def test_limits_stages_and_a_verdict(self):
        run = Run(
            RGB,
            "--num_items=24",
            "--batch_size=8",
            "--num_runs=2",
            "--transforms=HorizontalFlip",
            "--diagnose",
        )
        row = self.check_rows(run, 1)[-1]
        # One table per job, however often it ran.
        self.assertEqual(run.stderr.count("images/s without it"), 1, run.stderr)
        loader = row["loader"]
        self.assertEqual(row["limit"]["name"], "jpeg_decode")
        self.assertGreater(row["of_limit"], 0)
        self.assertGreater(loader["worker_efficiency"], 0)
        self.assertIn("decode", {s["name"] for s in loader["stages"]})
        names = {a["name"] for a in loader["diagnosis"]["ablations"]}
        self.assertEqual(
            names, {"cached_batch", "full", "no_augment", "no_decode"}
        )
        # On a loaded machine no part may cost more than the noise.
        verdict = loader["diagnosis"]["verdict"]
        self.assertIn(
            verdict, ("", "reading", "decoding", "augmenting", "collating")
        )
        if verdict:
            self.assertIn("twice as fast would give", run.stderr)

    def test_crops_of_the_recipes_own_have_limits(self):
        run = Run(
            RGB,
            "--num_items=24",
            "--batch_size=8",
            "--num_runs=1",
            "--transforms=RandomResizedCrop,RandomCrop224",
        )
        for row in self.check_rows(run, 2)[-2:]:
            self.assertEqual(row["limit"]["name"], "jpeg_decode", row)
            self.assertGreater(row["of_limit"], 0)

    def test_recipes_that_draw_say_why_they_are_not_compared(self):
        run = Run(TRAINING, *SMALL, "--params_profile=paper", "--verify")
        self.assertIn("Which of the three is applied is drawn", run.stdout)
        # That profile has no training recipes.
        self.assertNotIn("--params_profile=matched", run.stdout)

    def test_a_sweep_ends_with_advice(self):
        run = Run(
            RGB,
            *SMALL,
            "--transforms=HorizontalFlip",
            "--sweep=workers=1,2;prefetch=2,4",
            "--noworker_efficiency",
        )
        self.assertEqual(len(self.check_rows(run, 1)), 4)
        self.assertIn("highest median: ", run.stderr)
        self.assertIn("smallest with a median within 3% of it: ", run.stderr)
        # One run per setting supports advice only if the smallest was fastest.
        self.assertRegex(run.stderr, "  (Use|No advice:) workers=")

    def test_containers_have_the_same_images(self):
        flags = (
            *SMALL,
            "--transforms=HorizontalFlip",
            "--params_profile=matched",
            "--noworker_efficiency",
            f"--containers={','.join(CONTAINERS)}",
        )
        for _ in range(2):  # The second time they are there.
            run = Run(RGB, *flags)
            rows = {
                row["settings"]["container"]: row
                for row in self.check_rows(run, 1)
            }
            self.assertEqual(sorted(rows), sorted(CONTAINERS))
            for container, row in rows.items():
                loader = row["loader"]
                self.assertEqual(row["items"], 12)
                self.assertEqual(loader["errors_total"], 0)
                self.assertIn(
                    row["equivalence"]["label"], ("exact", "equivalent")
                )
                self.assertGreater(loader["random_item_s"], 0)
                # Without the heads of records, and without what was read ahead
                # before the counters were.
                self.assertGreater(
                    loader["bytes_in"], 0.5 * row["dataset"]["bytes"], container
                )
                self.assertRegex(run.stderr, rf"\n{container} +native +[0-9]")
        self.assertIn("/ native files", run.stderr)
        verified = Run(RGB, *flags, "--verify")
        for container in CONTAINERS:
            self.assertRegex(
                verified.stdout, f"HorizontalFlip on {container} +(exact|equiv)"
            )

    def test_containers_deliver_each_item_once(self):
        run = Run(
            RGB,
            "--audit",
            "--containers=all",
            "--dataset=synthetic:ids,n=43",
            "--num_items=43",
            "--batch_size=4",
            "--transforms=HorizontalFlip",
        )
        self.assertEqual(run.code, 0, run.stderr)
        audits = [r for r in run.records if r["record"] == "audit"]
        passed = [a for a in audits if a["verdict"] == "pass"]
        self.assertEqual([a["container"] for a in passed], CONTAINERS)
        self.assertEqual(len(audits), len(passed))
        self.assertEqual(
            len({a["order"]["schedule_sha256"] for a in passed}), 1
        )
        self.assertIn("native on tfrecord ", run.stderr)

    def test_mistakes_with_containers_are_one_line(self):
        memory = "--scope=memory_dataloader_augment"
        for flags, text in (
            (["--containers=zip"], "--containers"),
            (["--containers=files,"], "--containers"),
            (["--containers=files", memory], "in one that decodes"),
        ):
            run = Run(RGB, *SMALL, "--transforms=HorizontalFlip", *flags)
            self.assertEqual(run.code, 1, run.stderr)
            self.assertIn(text, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        planned = harness.Run([PIPELINE, "--containers=files"])
        self.assertEqual(planned.code, 1)
        self.assertIn("--containers changes a config", planned.stderr)

    def test_cold_epochs_come_from_the_disk(self):
        flags = ("--transforms=HorizontalFlip", "--min_time=0.2")
        run = Run(RGB, *SMALL, *flags, "--cold")
        row = self.check_rows(run, 1)[0]
        self.assertGreater(row["loader"]["epochs"], 1)
        if "cold" not in row["labels"]:
            self.skipTest("the page cache keeps these files")
        # What is read ahead may remain from one epoch to the next.
        every = row["dataset"]["bytes"] * row["loader"]["epochs"]
        self.assertGreater(row["cache"]["bytes_read"], 0.9 * every)

    def four_images(self):
        """Copies them into the folder."""
        Run(RGB, *SMALL, "--transforms=HorizontalFlip")  # Writes the files.
        cache = pathlib.Path(harness.environment()["XDG_CACHE_HOME"])
        made = sorted(cache.glob("feedrate/synthetic/*/*.jpg"))[:4]
        for path in made:
            (self.folder / path.name).write_bytes(path.read_bytes())
        return made

    def test_an_index_is_made_while_staging_and_kept(self):
        self.four_images()
        there = harness.new_folder()
        stage = [STAGE, f"--source={self.folder}", f"--dest={there}"]
        staged = harness.Run([*stage, "--index"])
        self.assertEqual(staged.code, 0, staged.stderr)
        self.assertIn(f"made {there}/feedrate.jpegindex", staged.stderr)
        index = there / "feedrate.jpegindex"
        first = index.read_bytes()

        def again(dataset):
            make = [PIPELINE, f"--make_index={index}", f"--dataset={dataset}"]
            return harness.Run(make)

        # The same pictures, elsewhere and under other names.
        shards = self.folder / "shards"
        pack = [PIPELINE, f"--make_shards={shards}", f"--dataset={there}"]
        self.assertEqual(harness.Run(pack).code, 0)
        for dataset in (there, shards):
            run = again(dataset)
            self.assertEqual(run.code, 0, run.stderr)
            self.assertIn("4 items, ", run.stderr)
            self.assertIn("4 that were in the index, 0 with", run.stderr)
        self.assertEqual(index.read_bytes(), first)
        (there / "broken.jpg").write_bytes(b"\xff\xd8 no image")
        run = again(there)
        self.assertEqual(run.code, 2)
        self.assertRegex(run.stderr, "1 that cannot be used.*broken.jpg: ")
        self.assertEqual(index.read_bytes(), first)

    def test_mistakes_with_an_index_are_one_line(self):
        empty = self.folder / "empty"
        empty.mkdir()
        index = self.folder / "index"
        for flags, text in (
            ((), "--make_index needs --dataset=WHERE"),
            ((f"--dataset={empty}",), f"{empty}: has no images"),
            ((f"--dataset={self.folder}/none",), "none: cannot list"),
        ):
            run = harness.Run([PIPELINE, f"--make_index={index}", *flags])
            self.assertEqual(run.code, 1, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
            self.assertIn(text, run.stderr)
            self.assertFalse(index.exists())

    def test_a_corrupt_file_is_left_out_or_fails(self):
        made = self.four_images()
        (self.folder / "broken.jpg").write_bytes(b"\xff\xd8 no image")
        # Sorted first, so that the check against the reference meets it.
        cut = made[0].read_bytes()[:20000]
        (self.folder / "a_cut.jpg").write_bytes(cut)
        flags = (
            f"--dataset={self.folder}",
            "--num_items=6",
            "--num_runs=1",
            "--transforms=HorizontalFlip",
            "--params_profile=matched",
        )
        run = Run(RGB, *flags)
        row = self.check_rows(run, 1)[0]
        self.assertGreaterEqual(row["items"], 4)
        self.assertEqual(row["loader"]["errors_total"], 2)
        self.assertEqual(
            [pathlib.Path(e["path"]).name for e in row["loader"]["errors"]],
            ["a_cut.jpg", "broken.jpg"],
        )
        self.assertIn(row["equivalence"]["label"], ("exact", "equivalent"))
        self.assertRegex(run.stderr, "not compared: .*a_cut.jpg: ")
        failing = Run(RGB, *flags, "--on_error=fail", "--fail_on=failed")
        self.assertEqual(failing.code, 3)
        self.assertEqual(failing.rows[0]["status"], "failed")
        # Several threads read; either file may be met first.
        self.assertRegex(failing.rows[0]["reason"], r"(a_cut|broken)\.jpg: ")
        verified = Run(RGB, *flags, "--on_error=fail", "--verify")
        self.assertIn("a_cut.jpg", verified.stdout + verified.stderr)


if __name__ == "__main__":
    unittest.main()
