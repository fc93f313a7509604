#!/usr/bin/env python3
"""pipeline on data in stores: objects, shards, the cache, mistakes.

The store is a folder behind a file:// address, which goes the same way as a
bucket does; dev/checks/remote_test.sh has buckets and web servers.
"""

import json
import pathlib
import sys
import tarfile
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

PIPELINE = "tools/pipeline/pipeline"
CONFIG = "configs/native/rgb_pipeline_cpu.textproto"
QUICK = (
    "--batch_size=4",
    "--num_runs=1",
    "--transforms=HorizontalFlip",
    "--noworker_efficiency",
)


def pipeline(*flags):
    return harness.Run([PIPELINE, *harness.PLANNED_RUNS, *flags])


def rows_of(done):
    return harness.rows_of(done.records, "native")


class RemoteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = harness.new_folder()
        # Images of the usual size, as pipeline itself makes them.
        done = pipeline(f"--config={CONFIG}", *QUICK, "--num_items=30")
        assert done.code == 0, done.stderr
        cache = pathlib.Path(harness.environment()["XDG_CACHE_HOME"])
        cls.images = cls.base / "far images"
        for i, path in enumerate(
            sorted(cache.glob("feedrate/synthetic/seed*/*.jpg"))[:30]
        ):
            target = cls.images / f"c{i // 10}" / f"ü {i:02}.jpg"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        cls.shards = cls.base / "shards"
        cls.packed = pipeline(
            f"--make-shards={cls.shards}",
            f"--dataset={cls.images}",
            "--shard_bytes=1M",
        )

    def tearDown(self):
        self.assertEqual(harness.workers_left(), [])

    def run_on(self, folder, *flags):
        done = pipeline(
            f"--config={CONFIG}",
            *QUICK,
            "--num_items=30",
            f"--dataset=file://{folder}",
            *flags,
        )
        self.assertEqual(done.code, 0, done.stderr)
        rows = rows_of(done)
        for row in rows:
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertEqual(row["items"], 30)
            self.assertEqual(row["loader"]["errors_total"], 0)
        return rows

    def test_objects_are_read_and_compared(self):
        row = self.run_on(self.images)[0]
        storage = row["storage"]
        self.assertEqual(storage["scheme"], "file")
        self.assertEqual(storage["requests"], 30)
        self.assertEqual(storage["bytes"], row["dataset"]["bytes"])
        self.assertEqual(storage["connections"], 8)
        self.assertGreater(storage["download_mb_per_s"], 0)
        self.assertGreater(storage["parallel_efficiency"], 0)
        self.assertNotIn("cache_hit_rate", storage)
        self.assertNotIn("cache", row, "no local file is read")

    def test_the_bytes_are_those_of_files(self):
        found = []
        for dataset in (f"file://{self.images}", f"file://{self.shards}"):
            done = pipeline(
                f"--config={CONFIG}",
                *QUICK,
                "--num_items=30",
                f"--dataset={dataset}",
                "--verify",
                "--format=jsonl",
            )
            self.assertEqual(done.code, 0, done.stderr)
            found += [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(found), 2)
        for one in found:
            self.assertIn(
                one["equivalence"]["label"], ("exact", "equivalent"), one
            )

    def test_shards_are_packed_as_tar_has_it(self):
        self.assertEqual(self.packed.code, 0, self.packed.stderr)
        self.assertIn("30 samples", self.packed.stderr)
        names = []
        for shard in sorted(self.shards.glob("*.tar")):
            self.assertLessEqual(shard.stat().st_size, 1 << 20)
            with tarfile.open(shard) as archive:
                for member in archive:
                    names.append(member.name)
                    self.assertEqual(
                        archive.extractfile(member).read(),
                        (self.images / member.name).read_bytes(),
                    )
        self.assertEqual(len(names), 30)
        again = pipeline(
            f"--make_shards={self.shards}", f"--dataset={self.images}"
        )
        self.assertEqual(again.code, 1)
        self.assertIn("is there already", again.stderr)

    def test_a_shard_is_few_requests_and_fills_the_cache(self):
        cache = self.base / "cache"
        flags = (f"--cache_dir={cache}", "--noconnection_efficiency")
        first = self.run_on(self.shards, "--sweep=range_bytes=65536", *flags)
        second = self.run_on(self.shards, "--sweep=range_bytes=65536", *flags)
        # The preflight and the warm-up of the first run read some already.
        self.assertGreater(first[0]["storage"]["requests"], 0)
        self.assertEqual(second[0]["storage"]["requests"], 0)
        self.assertEqual(second[0]["storage"]["cache_hit_rate"], 1)
        self.assertEqual(second[0]["storage"]["network_share"], 0)
        # One byte of every entry is changed: none is served.
        blobs = [p for p in cache.glob("blobs/*/*") if p.is_file()]
        self.assertGreater(len(blobs), 1)
        for blob in blobs:
            data = bytearray(blob.read_bytes())
            data[len(data) // 2] ^= 1
            blob.write_bytes(data)
        third = self.run_on(self.shards, "--sweep=range_bytes=65536", *flags)
        self.assertGreater(third[0]["storage"]["requests"], 0)

    def test_a_large_range_is_one_request_a_shard(self):
        # Local files are read by the workers themselves unless one says so.
        row = self.run_on(
            self.shards,
            "--noconnection_efficiency",
            "--sweep=read_ahead=remote",
        )[0]
        shards = len(list(self.shards.glob("*.tar")))
        self.assertEqual(row["storage"]["requests"], shards)

    def test_connections_are_an_axis(self):
        done = pipeline(
            f"--config={CONFIG}",
            *QUICK,
            "--num_items=8",
            f"--dataset=file://{self.images}",
            "--sweep=connections=1,2,16",
        )
        self.assertEqual(done.code, 0, done.stderr)
        rows = rows_of(done)
        # A noisy row is measured again, and both are there.
        found = {row["storage"]["connections"] for row in rows}
        self.assertEqual(found, {1, 2, 16})
        self.assertNotIn("parallel_efficiency", rows[0]["storage"])
        self.assertIn("connections=", done.stderr)
        local = pipeline(
            f"--config={CONFIG}",
            *QUICK,
            "--num_items=8",
            f"--dataset={self.images}",
            "--sweep=connections=2",
        )
        self.assertIn("settings of a store", local.stdout + local.stderr)

    def test_memory_scope_brings_files_first(self):
        done = pipeline(
            f"--config={CONFIG}",
            *QUICK,
            "--num_items=8",
            f"--dataset=file://{self.images}",
            "--scope=memory_dataloader_augment",
            f"--cache_dir={self.base / 'cache of files'}",
        )
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn("8 objects", done.stderr)
        self.assertEqual(rows_of(done)[0]["items"], 8)

    def test_a_damaged_sample_is_named(self):
        broken = self.base / "broken"
        broken.mkdir()
        for path in self.shards.iterdir():
            (broken / path.name).write_bytes(path.read_bytes())
        # Not of the first items, which are compared with the reference.
        shard = broken / "shard-000001.tar"
        index = broken / "shard-000001.tar.index"
        offset, _, _, member = index.read_text().split("\n")[1].split("\t")
        data = bytearray(shard.read_bytes())
        data[int(offset) + 5000] ^= 0xFF
        shard.write_bytes(data)
        done = pipeline(
            f"--config={CONFIG}",
            *QUICK,
            "--num_items=30",
            f"--dataset=file://{broken}",
        )
        self.assertEqual(done.code, 0, done.stderr)
        loader = rows_of(done)[0]["loader"]
        self.assertEqual(loader["errors_total"], 1)
        self.assertIn(f"shard-000001.tar:{member}", loader["errors"][0]["path"])
        self.assertIn("checksum", loader["errors"][0]["reason"])

    def test_mistakes_are_one_line(self):
        empty = self.base / "empty"
        empty.mkdir(exist_ok=True)
        config = f"--config={CONFIG}"
        for flags, text in (
            ((config, f"--dataset=file://{empty}"), "there is nothing"),
            ((config, f"--dataset=file://{empty}/none"), "is not a folder"),
            (
                (config, f"--dataset=file://{self.images}", "--num_items=31"),
                "has 30 usable objects, not 31",
            ),
            ((config, "--connections=0"), "--connections"),
            ((config, "--cache_bytes=much"), "--cache_bytes"),
            (("--make_shards=x",), "--dataset"),
            ((f"--make_shards={empty}/x", f"--dataset={empty}"), "nothing"),
            (
                ("--make_shards=x", "--dataset=y", "--shard_bytes=0"),
                "--shard_bytes",
            ),
        ):
            done = pipeline(*flags)
            self.assertEqual(done.code, 1, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_micro_says_how_to_get_it(self):
        job = harness.job("ok")
        job["dataset"] = self.images.name
        done = harness.micro([job], f"--dataset=file://{self.images}")
        self.assertEqual(done.code, 1, done.stderr)
        self.assertIn("stage_dataset", done.stderr)


if __name__ == "__main__":
    unittest.main()
