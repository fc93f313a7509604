"""pipeline --dataset=s3://... and https-like lists, against servers that run.

Started by remote_test.sh in the environment of dev/locks/storage.lock.
"""

import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

import boto3
import botocore.config

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lib/storage/testing"), str(ROOT / "tools/micro")]

import harness  # noqa: E402
import servers  # noqa: E402

BIN = pathlib.Path(os.environ.get("FEEDRATE_BIN", ROOT / "bazel-bin"))
PIPELINE = BIN / "tools/pipeline/pipeline"
CONFIG = ROOT / "configs/native/rgb_pipeline_cpu.textproto"
SECRET = "wJalrXUtnFEMI-not-a-key"
ITEMS = 40
QUICK = (
    f"--config={CONFIG}",
    f"--num_items={ITEMS}",
    "--batch_size=8",
    "--num_runs=1",
    "--transforms=HorizontalFlip",
    "--noworker_efficiency",
)


class Denying(http.server.BaseHTTPRequestHandler):
    """S3 that says no, each bucket in its own way."""

    protocol_version = "HTTP/1.1"
    ANSWERS = {
        "denied": (403, "AccessDenied", "Access Denied"),
        "expired": (400, "ExpiredToken", "The provided token has expired."),
        "wrong": (
            403,
            "SignatureDoesNotMatch",
            f"The signature of {SECRET} does not match",
        ),
    }

    def do_GET(self):
        bucket = self.path.strip("/").split("/")[0].split("?")[0]
        code, word, message = self.ANSWERS[bucket]
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>'
            f"<Error><Code>{word}</Code><Message>{message}</Message></Error>"
        ).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Run(harness.Run):
    def __init__(self, env, *flags):
        super().__init__([PIPELINE, *flags], env=env, cwd=ROOT)

    @property
    def rows(self):
        return harness.rows_of(self.records)


class RemoteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.base = pathlib.Path(
            cls.stack.enter_context(tempfile.TemporaryDirectory())
        )
        cls.endpoint = cls.stack.enter_context(servers.moto(cls.base))
        cls.env = {
            **os.environ,
            "XDG_CACHE_HOME": str(cls.base / "cache"),
            "FEEDRATE_WORKERS": str(BIN),
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": cls.endpoint,
        }
        cls.fill()
        denying = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Denying)
        threading.Thread(target=denying.serve_forever, daemon=True).start()
        cls.stack.callback(denying.server_close)
        cls.stack.callback(denying.shutdown)
        cls.denying = f"http://127.0.0.1:{denying.server_address[1]}"

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    @classmethod
    def fill(cls):
        """Images, and shards of them, as objects."""
        made = Run(cls.env, *QUICK)
        assert made.code == 0, made.stderr
        found = (cls.base / "cache").glob("feedrate/synthetic/seed*/*.jpg")
        cls.files = sorted(found)[:ITEMS]
        cls.s3 = boto3.client(
            "s3",
            endpoint_url=cls.endpoint,
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
            config=botocore.config.Config(s3={"addressing_style": "path"}),
        )
        cls.s3.create_bucket(Bucket="data")
        for i, path in enumerate(cls.files):
            cls.put(f"val/c{i % 3}/ü + {i:03}.jpg", path.read_bytes())
        cls.put("notes/readme.txt", b"nothing of use")
        cls.shards = cls.base / "shards"
        packed = Run(
            cls.env,
            f"--make-shards={cls.shards}",
            "--dataset=s3://data/val",
            "--shard_bytes=2M",
        )
        assert packed.code == 0, packed.stderr
        for path in sorted(cls.shards.iterdir()):
            cls.put(f"packed/{path.name}", path.read_bytes())

    @classmethod
    def put(cls, key, body):
        cls.s3.put_object(Bucket="data", Key=key, Body=body, ACL="public-read")

    def run_on(self, dataset, *flags, items=ITEMS):
        run = Run(self.env, *QUICK, f"--dataset={dataset}", *flags)
        self.assertEqual(run.code, 0, run.stderr)
        for row in run.rows:
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertEqual(row["items"], items)
            self.assertEqual(row["loader"]["errors_total"], 0)
            self.assertEqual(row["storage"]["retries"], 0)
        self.assertNotIn(SECRET, run.stdout + run.stderr)
        return run.rows

    def test_objects(self):
        row = self.run_on("s3://data/val")[0]
        self.assertEqual(row["dataset"]["id"], "val")
        storage = row["storage"]
        self.assertEqual(storage["scheme"], "s3")
        self.assertEqual(storage["requests"], ITEMS)
        self.assertEqual(
            storage["bytes"], sum(p.stat().st_size for p in self.files)
        )
        self.assertGreater(storage["download_mb_per_s"], 0)
        self.assertGreater(storage["network_share"], 0)
        self.assertGreater(storage["parallel_efficiency"], 0)

    def test_an_index_makes_parts_enough(self):
        flags = ("--sweep=jpeg_index=true", "--noconnection_efficiency")
        whole = sum(p.stat().st_size for p in self.files)
        first = self.run_on("s3://data/val", *flags)[0]["storage"]
        # Some were read before, to compare and to warm up.
        self.assertLess(first.get("part_items", 0), ITEMS)
        then = self.run_on("s3://data/val", *flags)[0]["storage"]
        # All but those of which a crop needs every byte.
        self.assertGreater(then["part_items"], 0.9 * ITEMS)
        self.assertEqual(then["requests"], ITEMS)
        saved = then["part_of_bytes"] - then["part_bytes"]
        self.assertEqual(then["bytes"], whole - saved)
        self.assertLess(then["bytes"], 0.85 * whole)

    def test_shards_and_the_cache(self):
        cache = self.base / "objects"
        flags = (f"--cache-dir={cache}", "--noconnection_efficiency")
        row = self.run_on("s3://data/packed", "--noconnection_efficiency")[0]
        self.assertLess(row["storage"]["requests"], 10, "a shard is a stream")
        self.run_on("s3://data/packed", *flags)
        row = self.run_on("s3://data/packed", *flags)[0]
        self.assertEqual(row["storage"]["requests"], 0)
        self.assertEqual(row["storage"]["cache_hit_rate"], 1)

    def test_connections_are_an_axis(self):
        rows = self.run_on(
            "s3://data/val",
            "--sweep=connections=1,2,4,8,16",
        )
        # A noisy row is measured again, and both are there.
        found = {r["storage"]["connections"] for r in rows}
        self.assertEqual(found, {1, 2, 4, 8, 16})

    def test_a_list_of_addresses(self):
        """Objects are public, so that plain addresses do."""
        shards = sorted(self.shards.glob("*.tar"))
        last = len(shards) - 1
        address = f"{self.endpoint}/data/packed/shard-{{000000..{last:06}}}.tar"
        row = self.run_on(address, "--noconnection_efficiency")[0]
        self.assertEqual(row["storage"]["scheme"], "http")

    def test_the_same_pixels_as_from_files(self):
        run = Run(
            self.env,
            *QUICK,
            "--dataset=s3://data/packed",
            "--verify",
            "--format=jsonl",
        )
        self.assertEqual(run.code, 0, run.stderr)
        found = json.loads(run.stdout.splitlines()[0])
        self.assertIn(found["equivalence"]["label"], ("exact", "equivalent"))

    def test_other_libraries_get_files(self):
        run = Run(
            self.env,
            *QUICK,
            "--dataset=s3://data/val",
            "--scope=memory_dataloader_augment",
            f"--cache_dir={self.base / 'files'}",
        )
        self.assertEqual(run.code, 0, run.stderr)
        self.assertIn(f"{ITEMS} objects", run.stderr)

    def refuse(self, dataset, *words, endpoint=None, env=None, codes=(1, 2)):
        flags = [*QUICK, f"--dataset={dataset}", "--store_retries=1"]
        if endpoint is not None:
            flags.append(f"--endpoint={endpoint}")
        started = time.monotonic()
        run = Run(env or self.env, *flags)
        self.assertIn(run.code, codes, run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertLess(time.monotonic() - started, 60)
        for word in words:
            self.assertIn(word.lower(), run.stderr.lower())
        self.assertNotIn(SECRET, run.stderr + run.stdout)
        self.assertEqual(run.stdout, "")
        print(f"  {run.code}: {run.stderr.strip()}", file=sys.stderr)

    def test_bad_input_is_one_clear_line(self):
        self.refuse("s3://nobucket/val", "nobucket")
        self.refuse("s3://data/none", "s3://data/none", "nothing")
        self.refuse("s3://data/notes", "but no .jpg")
        self.refuse("s3://data/../val", "..")
        self.refuse("s3://data/a b/ü", "nothing")
        self.refuse("s3://", "s3://")
        self.refuse("s3://Bad_Bucket!/x", "bucket")
        self.refuse("s3://denied/val", "denied", endpoint=self.denying)
        self.refuse("s3://expired/val", "expired", endpoint=self.denying)
        self.refuse("s3://wrong/val", "signature", endpoint=self.denying)
        self.refuse("s3://data/val", "port 1", endpoint="http://127.0.0.1:1")
        self.refuse(f"{self.endpoint}/data/none-{{0..3}}.tar", "none-0.tar")
        bare = {k: v for k, v in self.env.items() if "SECRET" not in k}
        self.refuse("s3://data/val", "AWS_SECRET_ACCESS_KEY", env=bare)

    def test_names_that_are_no_paths(self):
        self.s3.create_bucket(Bucket="odd")
        for i, name in enumerate(("a/../b.jpg", "sp ace.jpg", "ü.jpg")):
            self.s3.put_object(
                Bucket="odd", Key=f"p/{name}", Body=self.files[i].read_bytes()
            )
        run = Run(
            self.env,
            *QUICK,
            "--num_items=3",
            "--dataset=s3://odd/p",
            "--batch_size=1",
        )
        # Read as an object, or refused by name: never a file outside.
        if run.code == 0:
            self.assertEqual(run.rows[0]["items"], 3)
        else:
            self.assertIn("..", run.stderr)
        packed = Run(
            self.env,
            f"--make_shards={self.base / 'odd'}",
            "--dataset=s3://odd/p",
        )
        self.assertIn(packed.code, (1, 2))
        self.assertIn("..", packed.stderr)
        self.assertEqual(packed.stderr.count("\n"), 1, packed.stderr)

    def pack(self, target, dataset, *flags, code=0):
        run = Run(
            self.env, f"--make-shards={target}", f"--dataset={dataset}", *flags
        )
        self.assertEqual(run.code, code, run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertNotIn(SECRET, run.stderr)
        return run.stderr

    def objects(self, prefix):
        """What is in the bucket of S3: bytes and time by name."""
        listed = self.s3.list_objects_v2(Bucket="data", Prefix=f"{prefix}/")
        return {
            entry["Key"].removeprefix(f"{prefix}/"): (
                self.s3.get_object(Bucket="data", Key=entry["Key"])[
                    "Body"
                ].read(),
                entry["LastModified"],
            )
            for entry in listed.get("Contents", ())
        }

    def files_of(self, folder):
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def test_shards_are_packed_into_a_bucket(self):
        flags = ("s3://data/val", "--shard_bytes=2M")
        said = self.pack("s3://data/made", *flags)
        shards = len(list(self.shards.glob("*.tar")))
        self.assertIn(f"{shards} shards in s3://data/made", said)
        made = self.objects("made")
        self.assertEqual(
            {name: data for name, (data, _) in made.items()},
            self.files_of(self.shards),
        )
        # Again: nothing is written. One that lacks its index is.
        said = self.pack("s3://data/made", *flags)
        self.assertIn(f"; {shards} were there", said)
        self.assertEqual(self.objects("made"), made)
        index = "shard-000001.tar.index"
        self.s3.delete_object(Bucket="data", Key=f"made/{index}")
        said = self.pack("s3://data/made", *flags)
        self.assertIn(f"; {shards - 1} were there", said)
        again = self.objects("made")
        self.assertEqual(again[index][0], made[index][0])
        # Other samples do not replace them.
        said = self.pack("s3://data/made", "s3://data/val/c1", code=1)
        self.assertIn("s3://data/made/shard-000000.tar: is there", said)
        self.assertEqual(self.objects("made"), again)
        said = self.pack(f"{self.endpoint}/data/x", *flags, code=1)
        self.assertIn("cannot be written to", said)
        row = self.run_on("s3://data/made", "--noconnection_efficiency")[0]
        self.assertLess(row["storage"]["requests"], 10)

    def large_files(self):
        """A folder whose shard has three parts, and that shard."""
        folder = self.base / "large"
        folder.mkdir(exist_ok=True)
        for i in range(3):
            data = hashlib.shake_128(b"%d" % i).digest(7 << 20)
            (folder / f"{i}.npy").write_bytes(data)
        local = self.base / "large_shards"
        if not local.exists():
            self.pack(local, folder)
        return folder, local

    def test_a_packing_that_broke_off_continues(self):
        folder, local = self.large_files()
        key = "large/shard-000000.tar"
        whole = (local / "shard-000000.tar").read_bytes()
        # What a process leaves that dies after its second part, and what other
        # programs leave.
        upload = self.s3.create_multipart_upload(
            Bucket="data", Key=key, ChecksumAlgorithm="CRC32C"
        )["UploadId"]
        self.s3.create_multipart_upload(Bucket="data", Key=key + ".x")
        for number, data in ((1, whole[: 8 << 20]), (2, b"!" * (8 << 20))):
            self.s3.upload_part(
                Bucket="data",
                Key=key,
                UploadId=upload,
                PartNumber=number,
                Body=data,
            )
        self.assertEqual(self.objects("large"), {}, "a part is seen")
        log = self.base / "moto.log"
        before = log.stat().st_size
        self.pack("s3://data/large", folder)
        sent = log.read_text(errors="replace")[before:]
        for number, is_sent in ((1, False), (2, True), (3, True)):
            self.assertEqual(f"partNumber={number}&" in sent, is_sent, number)
        self.assertEqual(
            {name: data for name, (data, _) in self.objects("large").items()},
            self.files_of(local),
        )
        left = self.s3.list_multipart_uploads(Bucket="data").get("Uploads", ())
        self.assertEqual([one["Key"] for one in left], [key + ".x"])

    def test_shards_are_packed_into_a_bucket_of_gcs(self):
        folder, local = self.large_files()
        with servers.gcs_emulator(self.base) as url:
            servers.fetch(
                url + "/storage/v1/b?project=test",
                json.dumps({"name": "data"}).encode(),
                {"Content-Type": "application/json"},
            )
            target = ("gs://data/a b", folder, f"--endpoint={url}")
            self.pack(*target)
            for name, data in self.files_of(local).items():
                place = urllib.parse.quote(f"a b/{name}", safe="")
                found = servers.fetch(
                    f"{url}/storage/v1/b/data/o/{place}?alt=media"
                )
                self.assertEqual(found, data, name)
            self.assertIn("; 1 were there", self.pack(*target))

    def test_webdataset_reads_the_shards(self):
        python = os.environ.get("WEBDATASET_PYTHON")
        if not python:
            self.skipTest("no environment of webdataset")
        script = (
            "import glob, hashlib, sys, webdataset as w\n"
            "urls = sorted(glob.glob(sys.argv[1] + '/*.tar'))\n"
            "for s in w.WebDataset(urls, shardshuffle=False):\n"
            "    keys = [k for k in s if not k.startswith('__')]\n"
            "    assert keys == ['jpg'], s.keys()\n"
            "    print(hashlib.sha256(s['jpg']).hexdigest())\n"
        )
        done = subprocess.run(
            [python, "-B", "-c", script, str(self.shards)],
            capture_output=True,
            text=True,
            timeout=300,
            env={
                **os.environ,
                "PYTHONPATH": os.environ.get("WEBDATASET_PACKAGES", ""),
            },
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        right = sorted(
            hashlib.sha256(p.read_bytes()).hexdigest() for p in self.files
        )
        self.assertEqual(sorted(done.stdout.split()), right)


if __name__ == "__main__":
    unittest.main()
