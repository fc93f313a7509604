"""The faulty server: signatures, secrets, and every kind of fault."""

import os
import pathlib
import sys
import unittest

from remote_case import ODD_NAMES, RemoteCase, content, md5
from servers import (
    AWS,
    GCS_TOKEN,
    KEY,
    SECRET,
    SESSION_KEY,
    SESSION_TOKEN,
    counts_of,
    faulty,
    store_cat,
)

sys.path.append(str(pathlib.Path(__file__).parent / "faulty_server"))
from faults import KINDS  # noqa: E402

FULL = os.environ.get("FEEDRATE_FULL") == "1"
SECRETS = [KEY, SECRET, SESSION_KEY, SESSION_TOKEN, GCS_TOKEN, "ya29.old"]
SESSION = {
    "AWS_ACCESS_KEY_ID": SESSION_KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_SESSION_TOKEN": SESSION_TOKEN,
}


class SignatureTest(RemoteCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.new_folder()
        for name in ODD_NAMES:
            path = cls.folder / "odd" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content(name))
        cls.server = cls.enterClassContext(faulty(folder=cls.folder, page=3))

    def env(self, variables):
        return variables | {"AWS_ENDPOINT_URL": self.server.url}

    def test_botocore_agrees_with_every_signature(self):
        for keys in (AWS, SESSION):
            before = self.server.stats()["signatures"]
            done = self.run_cat("--digest", "s3://data/odd", env=self.env(keys))
            self.assertEqual(len(done.stdout.splitlines()), len(ODD_NAMES))
            after = self.server.stats()["signatures"]
            self.assertEqual(after - before, counts_of(done)["requests"])

    def test_wrong_credentials_are_told_and_not_shown(self):
        cases = [
            (
                AWS | {"AWS_SECRET_ACCESS_KEY": "no-such-secret"},
                "SignatureDoesNotMatch",
            ),
            (AWS | {"AWS_ACCESS_KEY_ID": "AKIAUNKNOWN"}, "InvalidAccessKeyId"),
            (SESSION | {"AWS_SESSION_TOKEN": "expired"}, "ExpiredToken"),
            (AWS | {"AWS_REGION": "eu-west-1"}, "set AWS_REGION"),
            ({}, "without credentials"),
        ]
        for variables, words in cases:
            with self.subTest(words):
                done = store_cat("s3://data/odd", env=self.env(variables))
                self.assertIn(done.returncode, (1, 2))
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertIn(words, done.stderr)
                for secret in [*SECRETS, "no-such-secret", "AKIAUNKNOWN"]:
                    self.assertNotIn(secret, done.stderr)
                self.assertNotRegex(done.stderr, "[0-9a-f]{64}")

    def test_no_permission(self):
        self.assert_fails(
            ["s3://private/odd", "AccessDenied"],
            2,
            "s3://private/odd",
            env=self.env(AWS),
            hidden=SECRETS,
        )

    def test_anonymous(self):
        for variables, flags in (({}, []), (AWS, ["--anonymous"])):
            before = self.server.stats()["signatures"]
            digests = self.digests(
                *flags, "s3://public/odd", env=self.env(variables)
            )
            self.assertEqual(digests, {n: md5(content(n)) for n in ODD_NAMES})
            self.assertEqual(self.server.stats()["signatures"], before)

    def test_tokens_of_gcs(self):
        env = {"STORAGE_EMULATOR_HOST": self.server.url}
        good = env | {"CLOUDSDK_AUTH_ACCESS_TOKEN": GCS_TOKEN}
        expected = {n: md5(content(n)) for n in ODD_NAMES}
        self.assertEqual(self.digests("gs://data/odd", env=good), expected)
        self.assertEqual(self.digests("gs://public/odd", env=env), expected)
        for variables, words in (
            (env | {"GOOGLE_OAUTH_ACCESS_TOKEN": "ya29.old"}, "has expired"),
            (env, "print-access-token"),
        ):
            self.assert_fails(
                ["gs://data/odd", "HTTP 401", words],
                2,
                "gs://data/odd",
                env=variables,
                hidden=SECRETS,
            )
        self.assert_fails(
            ["HTTP 403"], 2, "gs://private/odd", env=good, hidden=SECRETS
        )


class FaultTest(RemoteCase):
    """Each kind alone, a third of the time, on all three protocols."""

    COUNT = 16
    BYTES = 50_000

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(
            faulty(objects=cls.COUNT, bytes=cls.BYTES, page=10)
        )
        cls.env = {
            "AWS_ENDPOINT_URL": cls.server.url,
            "STORAGE_EMULATOR_HOST": cls.server.url,
            "CLOUDSDK_AUTH_ACCESS_TOKEN": GCS_TOKEN,
        } | AWS
        cls.expected = {
            f"{i:06d}.bin": md5(content(f"set/{i:06d}.bin", cls.BYTES))
            for i in range(cls.COUNT)
        }

    def check(self, kind, *arguments):
        before = self.server.stats()["faults"].get(kind, 0)
        self.server.set(faults=kind, fault_rate=0.3)
        digests = self.digests(
            "--connections=16",
            "--retries=20",
            # Slow servers are not faults; only stalls take so long.
            "--timeout_s=2",
            "--range_bytes=100000",
            *arguments,
            env=self.env,
        )
        self.server.set(fault_rate=0)
        self.assertEqual(digests, self.expected)
        return self.server.stats()["faults"].get(kind, 0) - before

    def test_every_kind(self):
        for kind in KINDS:
            with self.subTest(kind):
                hit = self.check(kind, "s3://data/set")
                hit += self.check(kind, "gs://data/set")
                if KINDS[kind] == "whole":
                    hit += self.check(
                        kind, "--header_checksum", "s3://data/set"
                    )
                    hit += self.check(
                        kind, "--header_checksum", "gs://data/set"
                    )
                if KINDS[kind] != "whole":  # A web server has no checksums.
                    name = f"{{000000..{self.COUNT - 1:06d}}}.bin"
                    hit += self.check(kind, f"{self.server.url}/web/set/{name}")
                self.assertGreater(hit, 5)

    def test_damage_that_stays_is_reported(self):
        self.server.set(faults="wrong_bytes", fault_rate=1)
        done = store_cat("--digest", "s3://data/set", env=self.env)
        self.server.set(fault_rate=0)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("do not have the checksum md5:", done.stderr)
        self.assertIn("s3://data/set/000000.bin", done.stderr)

    def test_a_server_that_only_fails_is_given_up(self):
        for kind, timeout_s, words in (
            ("status_503", 60, "HTTP 503"),
            ("stall", 0.2, "nothing came for 0.2 s"),
            ("drop", 60, "attempts)"),
        ):
            self.server.set(faults=kind, fault_rate=1)
            # It ends: a process that hangs is killed after two minutes.
            done = store_cat(
                "--retries=3",
                f"--timeout_s={timeout_s}",
                "s3://data/set",
                env=self.env,
            )
            self.server.set(fault_rate=0)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertIn("(4 attempts)", done.stderr)


class FaultRunTest(RemoteCase):
    """Thousands of requests, a twentieth of which fail."""

    REQUESTS = 10_000 if FULL else 1_000
    PARTS = 4
    PART_BYTES = 16_384

    def run_faults(self, scheme, flags, **settings):
        count = self.REQUESTS // self.PARTS
        size = self.PARTS * self.PART_BYTES
        with faulty(
            objects=count, bytes=size, fault_rate=0.05, **settings
        ) as server:
            env = {
                "AWS_ENDPOINT_URL": server.url,
                "STORAGE_EMULATOR_HOST": server.url,
                "CLOUDSDK_AUTH_ACCESS_TOKEN": GCS_TOKEN,
            } | AWS
            done = self.run_cat(
                "--digest",
                "--keep_going",
                "--connections=16",
                "--timeout_s=1",
                f"--range_bytes={self.PART_BYTES}",
                *flags,
                f"{scheme}://data/set",
                env=env,
            )
            stats = server.stats()
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual(len(rows), count)
        wrong = [
            name
            for digest, _, name in rows
            if digest != "error" and digest != md5(content(f"set/{name}", size))
        ]
        reported = sum(row[0] == "error" for row in rows)
        kinds = dict(sorted(stats["faults"].items()))
        print(
            f"{scheme} {' '.join(flags)}: {stats['requests']} requests, "
            f"{sum(kinds.values())} faults {kinds}, "
            f"{counts_of(done)['elapsed_s']:.1f} s, {reported} reported"
        )
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(stats["requests"], self.REQUESTS)
        self.assertLess(reported, count / 100)
        return kinds

    def test_whole_objects_of_s3(self):
        # Every kind, including damaged parts: the whole has a checksum.
        kinds = self.run_faults("s3", [], corrupt_parts=True)
        if FULL:
            self.assertEqual(set(kinds), set(KINDS))

    def test_whole_objects_of_gcs(self):
        kinds = self.run_faults("gs", [], corrupt_parts=True)
        if FULL:
            self.assertEqual(set(kinds), set(KINDS))

    def test_slices(self):
        # Ranges that cannot be verified, so without damage.
        self.run_faults("s3", [f"--slices={self.PARTS}"])

    def test_objects_that_were_uploaded_in_parts(self):
        # Only their parts have sums.
        for flags in ([], [f"--slices={self.PARTS}"]):
            kinds = self.run_faults(
                "s3",
                flags,
                corrupt_parts=True,
                part_bytes=self.PART_BYTES,
                faults="wrong_bytes,status_500,drop,truncate",
            )
            self.assertIn("wrong_bytes", kinds)


if __name__ == "__main__":
    unittest.main()
