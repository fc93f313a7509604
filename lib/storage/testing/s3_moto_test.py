"""S3 against moto's server."""

import json
import unittest

import boto3
from remote_case import ODD_NAMES, RemoteCase, content, md5
from servers import AWS, KEY, SECRET, counts_of, fetch, moto

MANY = 1100  # More than a page.
BIG = 20 << 20


class S3MotoTest(RemoteCase):
    @classmethod
    def setUpClass(cls):
        cls.url = cls.enterClassContext(moto(cls.new_folder()))
        cls.env = AWS | {"AWS_ENDPOINT_URL_S3": cls.url}
        cls.client = boto3.client(
            "s3",
            endpoint_url=cls.url,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        cls.client.create_bucket(Bucket="data")
        for name in ODD_NAMES:
            cls.put("odd/" + name, content(name))
        for i in range(MANY):
            cls.put(f"many/{i:05d}", b"%d" % i)
        cls.put("big/one.bin", content("big", BIG))
        cls.put("big/empty.bin", b"")
        cls.put("big/", b"")  # The mark of a folder.

    @classmethod
    def put(cls, key, data):
        cls.client.put_object(Bucket="data", Key=key, Body=data)

    def test_names_of_every_kind(self):
        digests = self.digests("s3://data/odd", env=self.env)
        self.assertEqual(digests, {n: md5(content(n)) for n in ODD_NAMES})

    def test_all_pages(self):
        done = self.run_cat("--list", "s3://data/many/", env=self.env)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual(len(rows), MANY)
        self.assertEqual(
            [
                (name, int(size), version, checksum)
                for name, size, version, checksum in rows
            ],
            [
                (
                    f"{i:05d}",
                    len(b"%d" % i),
                    md5(b"%d" % i),
                    "md5:" + md5(b"%d" % i),
                )
                for i in range(MANY)
            ],
        )

    def test_ranges_make_up_the_whole(self):
        expected = {
            "one.bin": md5(content("big", BIG)),
            "empty.bin": md5(b""),
        }
        for size in (BIG, 1 << 20, 999_983):
            self.assertEqual(
                self.digests(
                    f"--range_bytes={size}", "s3://data/big", env=self.env
                ),
                expected,
            )

    def test_an_object_of_parts_has_no_md5(self):
        upload = self.client.create_multipart_upload(Bucket="data", Key="m/p")
        data = content("parts", 6 << 20)
        parts = []
        for number, piece in ((1, data[: 5 << 20]), (2, data[5 << 20 :])):
            sent = self.client.upload_part(
                Bucket="data",
                Key="m/p",
                UploadId=upload["UploadId"],
                PartNumber=number,
                Body=piece,
            )
            parts.append({"PartNumber": number, "ETag": sent["ETag"]})
        self.client.complete_multipart_upload(
            Bucket="data",
            Key="m/p",
            UploadId=upload["UploadId"],
            MultipartUpload={"Parts": parts},
        )
        # One range, and several, after which the store is asked for a sum.
        for size in (8 << 20, 1 << 20):
            done = self.run_cat(
                "--digest",
                f"--range_bytes={size}",
                "s3://data/m/p",
                env=self.env,
            )
            self.assertEqual(done.stdout.split("\t")[0], md5(data))
            self.assertEqual(counts_of(done)["checksum_faults"], 0)

    def test_one_object_and_lists_of_objects(self):
        self.assertEqual(
            self.digests("s3://data/big/one.bin", env=self.env),
            {"one.bin": md5(content("big", BIG))},
        )
        self.assertEqual(
            self.digests("s3://data/many/{00008..00011}", env=self.env),
            {f"{i:05d}": md5(b"%d" % i) for i in range(8, 12)},
        )

    def test_what_is_missing_is_told_in_one_line(self):
        cases = {
            "s3://missing/x": "NoSuchBucket",
            "s3://data/nothing": "there is nothing under this prefix",
            "s3://data/nothing/": "there is nothing under this prefix",
            "s3://data/many/{00008..09999}": "s3://data/many/01100",
        }
        for url, words in cases.items():
            with self.subTest(url):
                self.assert_fails([url[:12], words], 1, url, env=self.env)

    def test_names_that_lead_elsewhere_are_refused(self):
        self.put("dots/a/../b", b"x")
        self.assert_fails(
            ["s3://data/dots", "has a part '..'"],
            1,
            "s3://data/dots",
            env=self.env,
        )

    def test_keys_of_a_profile(self):
        folder = self.new_folder()
        (folder / "credentials").write_text(
            f"[lab]\naws_access_key_id = {KEY}\n"
            f"aws_secret_access_key = {SECRET}\n"
        )
        (folder / "config").write_text(
            f"[profile lab]\nregion = us-east-1\nendpoint_url = {self.url}\n"
        )
        env = {
            "AWS_PROFILE": "lab",
            "AWS_CONFIG_FILE": str(folder / "config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        }
        self.assertEqual(len(self.digests("s3://data/odd", env=env)), 8)

    def test_an_object_that_changes_is_noticed(self):
        self.put("new/x", b"old")
        done = self.run_cat("--list", "s3://data/new", env=self.env)
        old = done.stdout.split("\t")[2]
        self.put("new/x", b"new")
        done = self.run_cat("--list", "s3://data/new", env=self.env)
        self.assertNotEqual(done.stdout.split("\t")[2], old)


class MotoStsTest(RemoteCase):
    """A token server by somebody else, and a store that takes only what the
    keys of that server have signed."""

    def test_role_of_a_web_identity(self):
        where = self.enterContext(moto(self.new_folder()))
        client = {
            "endpoint_url": where,
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "region_name": "us-east-1",
        }
        s3 = boto3.client("s3", **client)
        s3.create_bucket(Bucket="data")
        for i in range(3):
            s3.put_object(Bucket="data", Key=f"x/{i}", Body=b"%d" % i)
        allow = {"Effect": "Allow", "Action": ["s3:*", "sts:*"]}
        iam = boto3.client("iam", **client)
        role = iam.create_role(
            RoleName="lab", AssumeRolePolicyDocument=policy(**allow)
        )["Role"]["Arn"]
        iam.put_role_policy(
            RoleName="lab",
            PolicyName="p",
            PolicyDocument=policy(**allow, Resource="*"),
        )
        token = self.new_folder() / "token"
        token.write_text("a web identity")
        env = {
            "AWS_ENDPOINT_URL_S3": where,
            "AWS_ENDPOINT_URL_STS": where,
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
            "AWS_ROLE_ARN": role,
        }
        # From the second action on, moto compares signatures with botocore's.
        plain = {"Content-Type": "text/plain"}
        fetch(f"{where}/moto-api/reset-auth", b"1", plain)
        self.assertEqual(
            self.digests("s3://data/x", env=env),
            {str(i): md5(b"%d" % i) for i in range(3)},
        )
        self.assert_fails(["403"], 2, "s3://data/x", env=AWS | env)


def policy(**statement):
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


if __name__ == "__main__":
    unittest.main()
