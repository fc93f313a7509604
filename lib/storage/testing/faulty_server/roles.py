"""Servers that hand out credentials: AWS's and Google's.

There is no emulator of them, except moto's of the metadata server, which asks
for no session token. credentials_test.py lets botocore get its credentials
here, too.
"""

import base64
import datetime
import json
import urllib.parse

from api import text_answer
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

IMDS_TOKEN = "AQAE-imds-token=="
ROLE = "lab-role"
CONTAINER_TOKEN = "Basic container"
SSO_TOKEN = "sso-token"
WEB_TOKEN = "eyJ.web.identity"
ROLE_PATH = "/latest/meta-data/iam/security-credentials/"
STS = """<AssumeRoleWithWebIdentityResponse
    xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult><Credentials>
    <AccessKeyId>{0}</AccessKeyId><SecretAccessKey>{1}</SecretAccessKey>
    <SessionToken>{2}</SessionToken><Expiration>{3}</Expiration>
  </Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>"""


def decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class Roles:
    """Hands out one key of AWS and one token of Google, for an hour."""

    def __init__(self, key, secret, token, gcs_token, jwt_key):
        self.keys = (key, secret, token)
        self.gcs_token = gcs_token
        self.jwt_key = None
        if jwt_key:
            with open(jwt_key, "rb") as pem:
                self.jwt_key = serialization.load_pem_public_key(pem.read())

    def answer(self, method, target, headers, body):
        """None if this is not a place for credentials."""
        path, _, query = target.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        form = dict(urllib.parse.parse_qsl(body.decode("latin-1")))
        if path == "/latest/api/token":
            good = method == "PUT" and headers.get(
                "x-aws-ec2-metadata-token-ttl-seconds"
            )
            return self.allow(good, IMDS_TOKEN)
        if path.startswith(ROLE_PATH):
            good = headers.get("x-aws-ec2-metadata-token") == IMDS_TOKEN
            if path == ROLE_PATH:
                return self.allow(good, ROLE)
            return self.allow(good and path == ROLE_PATH + ROLE, self.json())
        if path == "/container":
            good = headers.get("authorization") == CONTAINER_TOKEN
            return self.allow(good, self.json())
        if path == "/federation/credentials":
            good = headers.get("x-amz-sso_bearer_token") == SSO_TOKEN
            good &= query == {"role_name": ROLE, "account_id": "123456789012"}
            return self.allow(good, self.sso())
        if method == "POST" and path == "/":
            good = form.get("Action") == "AssumeRoleWithWebIdentity"
            good &= form.get("WebIdentityToken") == WEB_TOKEN
            expires = self.expires().strftime("%Y-%m-%dT%H:%M:%SZ")
            return self.allow(good, STS.format(*self.keys, expires))
        if path == "/token":
            good = form.get("refresh_token") == "good" or self.is_signed(form)
            return self.allow(good, self.google())
        if path.startswith("/computeMetadata/"):
            good = headers.get("metadata-flavor") == "Google"
            answer = self.allow(good, self.google())
            answer.headers["Metadata-Flavor"] = "Google"
            return answer
        return None

    def allow(self, good, text):
        if not good:
            # Repeats a secret, which nobody may show.
            return text_answer(401, "text/plain", SSO_TOKEN)
        return text_answer(200, "text/plain", text)

    def expires(self):
        now = datetime.datetime.now(datetime.UTC)
        return now + datetime.timedelta(hours=1)

    def json(self):
        key, secret, token = self.keys
        return json.dumps(
            {
                "Code": "Success",
                "Type": "AWS-HMAC",
                "AccessKeyId": key,
                "SecretAccessKey": secret,
                "Token": token,
                "Expiration": self.expires().strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        )

    def sso(self):
        key, secret, token = self.keys
        role = {
            "accessKeyId": key,
            "secretAccessKey": secret,
            "sessionToken": token,
            "expiration": int(self.expires().timestamp() * 1000),
        }
        return json.dumps({"roleCredentials": role})

    def google(self):
        return json.dumps({"access_token": self.gcs_token, "expires_in": 3600})

    def is_signed(self, form):
        """Whether the JSON web token is valid now and signed with the key."""
        head, claims, signature = form.get("assertion", "..").split(".")
        try:
            self.jwt_key.verify(
                decode(signature),
                f"{head}.{claims}".encode(),
                padding.PKCS1v15(),
                hashes.SHA256(),
            )
        except InvalidSignature:
            return False
        claims = json.loads(decode(claims))
        now = datetime.datetime.now(datetime.UTC).timestamp()
        return (
            json.loads(decode(head)) == {"alg": "RS256", "typ": "JWT"}
            and claims["iss"] == "robot@lab.example"
            and claims["aud"].endswith("/token")
            and claims["iat"] - 60 < now < claims["exp"]
            and "devstorage" in claims["scope"]
        )
