"""Credentials of roles and key files, and stores that redirect."""

import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import unittest

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from remote_case import ODD_NAMES, RemoteCase, content, md5
from servers import (
    AWS,
    GCS_TOKEN,
    SECRET,
    SESSION_KEY,
    SESSION_TOKEN,
    faulty,
    moto,
    nginx,
)

sys.path.append(str(pathlib.Path(__file__).parent / "faulty_server"))
from roles import CONTAINER_TOKEN, ROLE, SSO_TOKEN, WEB_TOKEN  # noqa: E402

EXPECTED = {name: md5(content(name)) for name in ODD_NAMES}
HIDDEN = [SECRET, SESSION_TOKEN, GCS_TOKEN, SSO_TOKEN, WEB_TOKEN]
BOTOCORE = """
import botocore.session
session = botocore.session.Session()
print(*session.get_credentials().get_frozen_credentials()[:3])
"""
START_URL = "https://lab.example/start"


class RolesCase(RemoteCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.new_folder()
        for name in ODD_NAMES:
            path = cls.folder / "data" / "odd" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content(name))
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        cls.private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
        public = cls.folder / "public.pem"
        public.write_bytes(
            key.public_key().public_bytes(
                serialization.Encoding.PEM,
                serialization.PublicFormat.SubjectPublicKeyInfo,
            )
        )
        cls.server = cls.enterClassContext(
            faulty(folder=cls.folder / "data", page=3, jwt_key=public)
        )
        cls.env = {"AWS_ENDPOINT_URL_S3": cls.server.url}

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)


class AwsRolesTest(RolesCase):
    def check(self, **variables):
        """Ours reads; botocore gets the same keys in the same place."""
        env = self.env | {"AWS_EC2_METADATA_DISABLED": "false"} | variables
        before = self.server.stats()["signatures"]
        self.assertEqual(self.digests("s3://data/odd", env=env), EXPECTED)
        self.assertGreater(self.server.stats()["signatures"], before)
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | env
        env["AWS_DEFAULT_REGION"] = "us-east-1"
        found = subprocess.run(
            [sys.executable, "-c", BOTOCORE],
            env=env,
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            found.stdout.split(),
            [SESSION_KEY, SECRET, SESSION_TOKEN],
            found.stderr,
        )

    def test_role_of_the_machine(self):
        self.check(
            AWS_EC2_METADATA_SERVICE_ENDPOINT=self.server.url,
            AWS_METADATA_SERVICE_TIMEOUT="60",
        )

    def test_metadata_server_of_moto(self):
        with moto(self.new_folder()) as url:
            env = self.env | {
                "AWS_EC2_METADATA_DISABLED": "false",
                "AWS_EC2_METADATA_SERVICE_ENDPOINT": url + "/",
                "AWS_METADATA_SERVICE_TIMEOUT": "60",
            }
            self.assertEqual(self.digests("s3://data/odd", env=env), EXPECTED)

    def test_role_of_a_container(self):
        self.check(
            AWS_CONTAINER_CREDENTIALS_FULL_URI=self.server.url + "/container",
            AWS_CONTAINER_AUTHORIZATION_TOKEN=CONTAINER_TOKEN,
        )
        self.check(
            AWS_CONTAINER_CREDENTIALS_FULL_URI=self.server.url + "/container",
            AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=self.write(
                "container", CONTAINER_TOKEN
            ),
        )

    def test_web_identity(self):
        self.check(
            AWS_WEB_IDENTITY_TOKEN_FILE=self.write("web", WEB_TOKEN),
            AWS_ROLE_ARN="arn:aws:iam::123456789012:role/lab-role",
            AWS_ENDPOINT_URL_STS=self.server.url,
        )

    def sso(self, profile, cache_key, hours):
        home = self.new_folder()
        expires = datetime.datetime.now(datetime.UTC)
        expires += datetime.timedelta(hours=hours)
        token = {
            "startUrl": START_URL,
            "region": "us-east-1",
            "accessToken": SSO_TOKEN,
            "expiresAt": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        name = hashlib.sha1(cache_key.encode()).hexdigest() + ".json"
        self.write(f"{home}/.aws/sso/cache/{name}", json.dumps(token))
        self.write(f"{home}/.aws/sso/cache/other.json", '{"a": [')
        self.write(
            f"{home}/.aws/config",
            f"[default]\nsso_account_id = 123456789012\n"
            f"sso_role_name = {ROLE}\n{profile}",
        )
        return {"HOME": str(home), "AWS_ENDPOINT_URL_SSO": self.server.url}

    def test_sso(self):
        where = f"sso_start_url = {START_URL}\nsso_region = us-east-1\n"
        self.check(**self.sso(where, START_URL, 1))
        session = f"sso_session = lab\n[sso-session lab]\n{where}"
        self.check(**self.sso(session, "lab", 1))
        self.assert_fails(
            ["aws sso login", START_URL],
            2,
            "s3://data/odd",
            env=self.env | self.sso(session, "lab", -1),
            hidden=HIDDEN,
        )

    def test_keys_of_the_environment_come_first(self):
        env = (
            self.env
            | AWS
            | {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/"}
        )
        self.assertEqual(self.digests("s3://data/odd", env=env), EXPECTED)

    def test_what_was_tried_is_named(self):
        cases = [
            ({"AWS_EC2_METADATA_DISABLED": "true"}, "METADATA_DISABLED"),
            (
                {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1"},
                "http://127.0.0.1:1 (",
            ),
        ]
        for variables, words in cases:
            env = self.env | {"AWS_EC2_METADATA_DISABLED": "false"} | variables
            self.assert_fails(
                [
                    "without credentials",
                    "AWS_ACCESS_KEY_ID",
                    "AWS_WEB_IDENTITY_TOKEN_FILE",
                    "SSO",
                    "AWS_CONTAINER_CREDENTIALS_*",
                    words,
                ],
                2,
                "s3://data/odd",
                env=env,
            )

    def test_secrets_go_nowhere_else(self):
        for name, words in (
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "over http"),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "over http"),
        ):
            env = self.env | {
                "AWS_EC2_METADATA_DISABLED": "false",
                name: "http://192.0.2.1/x",
            }
            self.assert_fails([name, words], 1, "s3://data/odd", env=env)

    def test_a_refusal_is_told_and_not_shown(self):
        env = self.env | {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": self.server.url
            + "/container",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "wrong",
        }
        self.assert_fails(
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "HTTP 401"],
            2,
            "s3://data/odd",
            env=env,
            hidden=HIDDEN,
        )


class GoogleTest(RolesCase):
    def key_file(self, **changes):
        key = {
            "type": "service_account",
            "client_email": "robot@lab.example",
            "private_key": self.private,
            "token_uri": self.server.url + "/token",
        }
        return self.write("key.json", json.dumps(key | changes))

    def read(self, **variables):
        return self.digests(
            f"--endpoint={self.server.url}", "gs://data/odd", env=variables
        )

    def fails(self, words, code, **variables):
        self.assert_fails(
            words,
            code,
            f"--endpoint={self.server.url}",
            "gs://data/odd",
            env=variables,
            hidden=[*HIDDEN, "BEGIN PRIVATE"],
        )

    def test_service_account(self):
        self.assertEqual(
            self.read(GOOGLE_APPLICATION_CREDENTIALS=self.key_file()), EXPECTED
        )

    def test_login_of_gcloud(self):
        text = json.dumps(
            {
                "type": "authorized_user",
                "client_id": "i",
                "client_secret": "s",
                "refresh_token": "good",
                "token_uri": self.server.url + "/token",
            }
        )
        self.write("gcloud/application_default_credentials.json", text)
        self.assertEqual(
            self.read(CLOUDSDK_CONFIG=str(self.folder / "gcloud")), EXPECTED
        )

    def test_a_key_that_is_wrong(self):
        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = other.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
        for changes, words, code in (
            ({"private_key": pem}, "HTTP 401", 2),
            ({"private_key": "x"}, "private_key is not an RSA key", 1),
            ({"token_uri": "http://192.0.2.1/"}, "over http", 1),
            ({"type": "external"}, "neither service_account nor", 1),
        ):
            path = self.key_file(**changes)
            self.fails([path, words], code, GOOGLE_APPLICATION_CREDENTIALS=path)
        self.fails(
            ["/nonexistent/k cannot be read"],
            1,
            GOOGLE_APPLICATION_CREDENTIALS="/nonexistent/k",
        )

    def test_metadata_server(self):
        host = self.server.url.removeprefix("http://")
        on = {"NO_GCE_CHECK": "false", "GCE_METADATA_TIMEOUT": "60"}
        self.assertEqual(self.read(**on, GCE_METADATA_HOST=host), EXPECTED)
        self.fails(
            ["GCE_METADATA_HOST"], 1, **on, GCE_METADATA_HOST="192.0.2.1"
        )

    def test_what_was_tried_is_named(self):
        for variables, words in (
            ({"NO_GCE_CHECK": "true"}, "NO_GCE_CHECK"),
            (
                {"NO_GCE_CHECK": "false", "GCE_METADATA_HOST": "127.0.0.1:1"},
                "127.0.0.1:1 (",
            ),
        ):
            self.fails(
                [
                    "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE",
                    "GOOGLE_APPLICATION_CREDENTIALS",
                    "application_default_credentials.json",
                    words,
                ],
                2,
                **variables,
            )


class RedirectTest(RolesCase):
    """The server redirects from 127.0.0.1 to localhost, as AIStore does from
    its proxy to the target, and compares each signature with botocore's."""

    def test_it_is_signed_for_the_new_host(self):
        before = self.server.stats()
        env = AWS | {"AWS_ENDPOINT_URL": self.server.url + "/redirect"}
        self.assert_fails(
            ['the host "localhost"', "not what you named", "--redirect_hosts"],
            1,
            "s3://data/odd",
            env=env,
        )
        between = self.server.stats()
        self.assertEqual(between["signatures"], before["signatures"])
        before["redirects"] = between["redirects"]
        allowed = "--redirect_hosts=localhost"
        self.assertEqual(
            self.digests(allowed, "s3://data/odd", env=env), EXPECTED
        )
        after = self.server.stats()
        followed = after["redirects"] - before.get("redirects", 0)
        self.assertGreaterEqual(followed, len(ODD_NAMES))
        self.assertEqual(after["signatures"] - before["signatures"], followed)

    def test_a_circle_ends(self):
        env = AWS | {"AWS_ENDPOINT_URL": self.server.url + "/circle"}
        self.assert_fails(
            ["redirects more than 5 times"], 1, "s3://data/odd", env=env
        )

    def test_never_from_https_to_http(self):
        work = self.new_folder()
        with nginx(self.folder, work) as (_, https):
            env = AWS | {
                "AWS_ENDPOINT_URL": https + "/to_http",
                "AWS_CA_BUNDLE": str(work / "cert.pem"),
            }
            self.assert_fails(
                ["redirects from https"], 1, "s3://data/odd", env=env
            )
            log = (work / "access.log").read_text()
        self.assertIn("302", log)
        self.assertNotIn(" /data", log)


if __name__ == "__main__":
    unittest.main()
