"""Compares every signature with the one that botocore makes.

The request is written anew from what it means, key and query decoded, so that a
client that encodes in another way than botocore does is found out.
"""

import datetime
import re
import urllib.parse

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
    r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})"
)
ALLOWED_SKEW = datetime.timedelta(minutes=15)


class Refused(Exception):
    """A wrong signature: status, code, message."""

    def __init__(self, status, code, message):
        super().__init__(message)
        self.status = status
        self.code = code


def same_request(method, target, headers, signed):
    """The request as botocore would send it."""
    path, _, query = target.partition("?")
    key = urllib.parse.unquote(path)
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    url = f"http://{headers['host']}" + urllib.parse.quote(key, safe="/~")
    return AWSRequest(
        method=method,
        url=url,
        params=dict(pairs),
        headers={name: headers[name] for name in signed},
    )


def check(method, target, headers, keys, region):
    """Raises Refused unless the signature is what botocore makes of it.

    keys: {access key: (secret, session token or None)}.
    """
    match = AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    if not match:
        raise Refused(403, "AccessDenied", "no signature")
    access, day, named_region, names, signature = match.groups()
    if access not in keys:
        raise Refused(403, "InvalidAccessKeyId", f"no such key: {access}")
    secret, token = keys[access]
    if named_region != region:
        raise Refused(400, "AuthorizationHeaderMalformed", "wrong region")
    if headers.get("x-amz-security-token") != token:
        raise Refused(400, "ExpiredToken", "The provided token has expired.")
    signed = names.split(";")
    must = {"host"} | {n for n in headers if n.startswith("x-amz-")}
    if not must <= set(signed) or signed != sorted(signed):
        raise Refused(403, "AccessDenied", f"unsigned headers: {names}")
    when = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    if abs(now - when) > ALLOWED_SKEW or when.strftime("%Y%m%d") != day:
        raise Refused(403, "RequestTimeTooSkewed", "wrong time")
    auth = S3SigV4Auth(Credentials(access, secret), "s3", region)
    request = same_request(method, target, headers, signed)
    request.context["timestamp"] = headers["x-amz-date"]
    text = auth.string_to_sign(request, auth.canonical_request(request))
    if auth.signature(text, request) != signature:
        raise Refused(
            403,
            "SignatureDoesNotMatch",
            # Real servers repeat what they received, too.
            f"{access} signed {text!r}: {headers['authorization']}",
        )
