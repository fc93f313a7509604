#!/usr/bin/env python3
"""`train` on shards and objects, against servers that run: moto for S3, an
emulator of GCS, nginx, and a server with faults.

    stores_test.py BAZEL_BIN [TEST...]

dev/checks/torch_model_test.sh runs it in the environment of
dev/locks/storage.lock.
"""

import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import urllib.parse

from torch_test import BIN, LONG, ROOT, rows, run

sys.path.insert(0, str(ROOT / "lib/storage/testing"))
import boto3  # noqa: E402
import botocore.config  # noqa: E402
import servers  # noqa: E402

IMAGES = 24
SHARDS = 2
E2E = (
    "--scope=e2e",
    "--workers=1",
    "--threads=1",
    "--epochs=1",
    "--warmup-steps=0",
    "--batch-size=4",
)


def train(dataset, *flags, code=0, **variables):
    out, err = run(
        "train", *E2E, f"--dataset={dataset}", *flags, code=code, **variables
    )
    return rows(out), err


class StoresTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.base = pathlib.Path(folder.name)
        cls.data = cls.base / "data"
        cls.make_images()
        cls.make_shards()
        cls.start_stores()
        # All others must give the same.
        ((cls.local,), _) = train(cls.data / "images")

    @classmethod
    def make_images(cls):
        made = cls.base / "made"
        subprocess.run(
            [
                BIN / "lib/media/write_synthetic",
                f"--folder={made}",
                f"--n={IMAGES}",
            ],
            check=True,
        )
        cls.classes = ["a b", "a", "ü"]
        for i, path in enumerate(sorted(made.glob("*.jpg"))):
            name = f"images/{cls.classes[i % 3]}/{i:03}.jpg"
            target = cls.data / name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        cls.images = sorted((cls.data / "images").rglob("*.jpg"))
        cls.bytes = sum(p.stat().st_size for p in cls.images)

    @classmethod
    def make_shards(cls):
        """The same images in the same order, with the same classes: as the
        folders of members, or as numbers."""
        numbers = {
            name: i
            for i, name in enumerate(sorted(cls.classes, key=pathlib.Path))
        }
        for kind in ("folders", "numbers"):
            (cls.data / kind).mkdir()
            for shard in range(SHARDS):
                path = cls.data / kind / f"shard-{shard:03}.tar"
                with tarfile.open(path, "w") as archive:
                    count = IMAGES // SHARDS
                    for image in cls.images[shard * count :][:count]:
                        label = numbers[image.parent.name]
                        name = f"{image.parent.name}/{image.name}"
                        if kind == "numbers":
                            name = image.name
                            cls.add(archive, f"{image.stem}.cls", b"%d" % label)
                        cls.add(archive, name, image.read_bytes())

    @staticmethod
    def add(archive, name, data):
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))

    @classmethod
    def start_stores(cls):
        work = cls.base / "nginx"
        work.mkdir()
        s3_url = cls.enterClassContext(servers.moto(cls.base))
        gcs_url = cls.enterClassContext(servers.gcs_emulator(cls.base))
        cls.web, _ = cls.enterClassContext(servers.nginx(cls.data, work))
        cls.env = {
            "AWS_ENDPOINT_URL": s3_url,
            "AWS_ACCESS_KEY_ID": servers.KEY,
            "AWS_SECRET_ACCESS_KEY": servers.SECRET,
            "AWS_REGION": "us-east-1",
            "STORAGE_EMULATOR_HOST": gcs_url,
            "NO_PROXY": "127.0.0.1",
        }
        cls.s3 = boto3.client(
            "s3",
            endpoint_url=s3_url,
            aws_access_key_id=servers.KEY,
            aws_secret_access_key=servers.SECRET,
            region_name="us-east-1",
            config=botocore.config.Config(s3={"addressing_style": "path"}),
        )
        cls.s3.create_bucket(Bucket="data")
        servers.fetch(
            gcs_url + "/storage/v1/b?project=test",
            json.dumps({"name": "data"}).encode(),
            {"Content-Type": "application/json"},
        )
        for path in cls.data.rglob("*.*"):
            key = str(path.relative_to(cls.data))
            cls.s3.put_object(Bucket="data", Key=key, Body=path.read_bytes())
            query = urllib.parse.urlencode({"uploadType": "media", "name": key})
            servers.fetch(
                f"{gcs_url}/upload/storage/v1/b/data/o?{query}",
                path.read_bytes(),
                {"Content-Type": "application/octet-stream"},
            )

    def train(self, dataset, *flags, **variables):
        result, err = train(dataset, *flags, **{**self.env, **variables})
        for row in result:
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertEqual(row["dataset"]["files"], IMAGES)
            self.assertEqual(row["dataset"]["bytes"], self.bytes)
            self.assertEqual(row["train"]["skipped_files"], 0)
        self.assertNotIn(servers.SECRET, err)
        return result

    def check_same(self, row):
        """The training saw what it sees in the folder."""
        self.assertEqual(row["train"]["losses"], self.local["train"]["losses"])

    def check_store(self, row, scheme, requests):
        self.check_same(row)
        storage = row["storage"]
        self.assertEqual(storage["scheme"], scheme)
        self.assertEqual(storage["connections"], 8)
        self.assertEqual(storage["requests"], requests)
        self.assertEqual(storage["bytes"], self.bytes)
        self.assertEqual(storage["retries"], 0)
        self.assertGreater(storage["download_mb_per_s"], 0)
        self.assertNotIn("cache_hit_rate", storage)
        self.assertNotIn("cache", row, "no local file is read")
        self.assertRegex(row["train"]["storage"], rf"^{scheme}, \d+ MB/s$")

    def test_objects_train_like_files(self):
        for scheme in ("s3", "gs"):
            (row,) = self.train(f"{scheme}://data/images")
            self.check_store(row, scheme, IMAGES)
        self.assertNotIn("storage", self.local)

    @LONG
    def test_shards_train_like_files(self):
        for kind in ("folders", "numbers"):
            shards = f"{kind}/shard-{{000..{SHARDS - 1:03}}}.tar"
            for scheme, dataset in (
                ("s3", f"s3://data/{kind}"),
                ("gs", f"gs://data/{kind}"),
                ("http", f"{self.web}/{shards}"),
                ("file", f"file://{self.data}/{kind}"),
            ):
                with self.subTest(dataset):
                    (row,) = self.train(dataset)
                    # Shuffled, so that an image is a request.
                    self.check_store(row, scheme, IMAGES)
            for dataset in (self.data / kind, self.data / shards):
                with self.subTest(dataset):
                    (row,) = self.train(dataset)
                    self.check_same(row)
                    self.assertNotIn("storage", row)
                    self.assertEqual(row["cache"]["resident_fraction"], 1)

    def test_the_cache_is_read_the_second_time(self):
        cache = f"--cache-dir={self.base / 'cache'}"
        for dataset in ("s3://data/images", "gs://data/numbers"):
            (first,) = self.train(dataset, cache)
            self.check_same(first)
            self.assertGreater(first["storage"]["requests"], 0)
            (second,) = self.train(dataset, cache)
            self.check_same(second)
            self.assertEqual(second["storage"]["requests"], 0)
            self.assertEqual(second["storage"]["cache_hit_rate"], 1)
            self.assertRegex(second["train"]["storage"], ", 100% cached$")

    def test_processes_share_a_store(self):
        for dataset in ("s3://data/images", "gs://data/folders"):
            alone, both = self.train(
                dataset, "--world-size=2", "--batch-size=2"
            )
            self.assertEqual(alone["storage"]["bytes"], self.bytes)
            self.assertEqual(both["train"]["measured_steps"], IMAGES // 4)
            # Neighbors in a shard that follow each other in the order are one
            # request, with the header between them.
            is_shards = dataset.endswith("folders")
            read = both["storage"]
            self.assertLessEqual(read["requests"], IMAGES)
            self.assertGreaterEqual(read["bytes"], self.bytes)
            if not is_shards:
                self.assertEqual(read["requests"], IMAGES)
                self.assertEqual(read["bytes"], self.bytes)

    def test_faults_are_retried_and_counted(self):
        with servers.faulty(
            folder=self.data / "images", fault_rate=0.3, faults="status_503"
        ) as server:
            (row,) = self.train(
                "s3://data", f"--endpoint={server.url}", "--store-retries=20"
            )
        self.check_same(row)
        storage = row["storage"]
        self.assertGreater(storage["retries"], 0)
        self.assertEqual(storage["requests"], IMAGES + storage["retries"])

    def test_damaged_objects_are_left_out_and_named(self):
        self.s3.put_object(
            Bucket="data", Key="images/a/bad.jpg", Body=b"no image"
        )
        self.addCleanup(
            self.s3.delete_object, Bucket="data", Key="images/a/bad.jpg"
        )
        (row,), err = train("s3://data/images", "--epochs=3", **self.env)
        self.assertEqual(row["dataset"]["files"], IMAGES)
        self.assertEqual(row["dataset"]["bytes"], self.bytes)
        (skipped,) = row["train"]["skipped"]
        self.assertEqual(skipped["path"], "s3://data/images/a/bad.jpg")
        self.assertIn("1 files were skipped", err)

    def test_a_store_is_validated_on_a_folder(self):
        (row,) = self.train(
            "s3://data/images",
            "--validate-every=6",
            f"--validation-dataset={self.data / 'images'}",
        )
        self.check_same(row)
        (validation,) = row["train"]["validations"]
        self.assertEqual(validation["images"], IMAGES)
        (row,) = self.train(
            "gs://data/numbers",
            "--validate-every=6",
            f"--validation-dataset={self.data / 'numbers'}",
        )
        self.assertEqual(row["train"]["validations"][0], validation)

    def test_wrong_addresses_are_one_line(self):
        for dataset, words in (
            ("s3://data/none", "there is nothing"),
            ("s3://nobucket/images", "nobucket"),
            (f"{self.web}/none.tar", "none.tar"),
        ):
            result, err = train(
                dataset, "--store-retries=0", code=1, **self.env
            )
            self.assertEqual(result, [])
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn(words, err)

    def test_a_class_that_the_model_lacks_is_named(self):
        path = self.base / "far.tar"
        with tarfile.open(path, "w") as archive:
            self.add(archive, "x.jpg", self.images[0].read_bytes())
            self.add(archive, "x.cls", b"4711")
        (row,), _ = train(path, code=2)
        self.assertEqual(row["status"], "failed")
        self.assertIn("far.tar:x.jpg: is of class 4711", row["reason"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
