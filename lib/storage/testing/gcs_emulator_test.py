"""GCS against gcp-storage-emulator."""

import json
import unittest
import urllib.parse

from remote_case import ODD_NAMES, RemoteCase, content, md5
from servers import fetch, gcs_emulator

BIG = 5 << 20


class GcsEmulatorTest(RemoteCase):
    @classmethod
    def setUpClass(cls):
        cls.url = cls.enterClassContext(gcs_emulator(cls.new_folder()))
        cls.env = {"STORAGE_EMULATOR_HOST": cls.url}
        fetch(
            cls.url + "/storage/v1/b?project=test",
            json.dumps({"name": "data"}).encode(),
            {"Content-Type": "application/json"},
        )
        for name in ODD_NAMES:
            cls.put("odd/" + name, content(name))
        cls.put("big/one.bin", content("big", BIG))

    @classmethod
    def put(cls, key, data):
        query = urllib.parse.urlencode({"uploadType": "media", "name": key})
        fetch(
            f"{cls.url}/upload/storage/v1/b/data/o?{query}",
            data,
            {"Content-Type": "application/octet-stream"},
        )

    def test_names_of_every_kind(self):
        digests = self.digests("gs://data/odd", env=self.env)
        self.assertEqual(digests, {n: md5(content(n)) for n in ODD_NAMES})

    def test_ranges_make_up_the_whole(self):
        for size in (BIG, 1 << 20, 999_983):
            self.assertEqual(
                self.digests(
                    f"--range_bytes={size}", "gs://data/big", env=self.env
                ),
                {"one.bin": md5(content("big", BIG))},
            )

    def test_the_endpoint_may_be_an_option(self):
        self.assertEqual(
            len(self.digests(f"--endpoint={self.url}", "gs://data/odd")),
            len(ODD_NAMES),
        )

    def test_checksums_and_generations_are_listed(self):
        done = self.run_cat("--list", "gs://data/big", env=self.env)
        name, size, version, checksum = done.stdout.strip("\n").split("\t")
        self.assertEqual((name, int(size)), ("one.bin", BIG))
        self.assertTrue(version.isdigit(), version)
        self.assertRegex(checksum, r"crc32c:[0-9a-f]{8}")

    def test_one_object(self):
        self.assertEqual(
            self.digests("gs://data/big/one.bin", env=self.env),
            {"one.bin": md5(content("big", BIG))},
        )

    def test_what_is_missing_is_told_in_one_line(self):
        for url in ("gs://missing/x", "gs://data/nothing"):
            with self.subTest(url):
                self.assert_fails([url], 1, url, env=self.env)


if __name__ == "__main__":
    unittest.main()
