"""AWS's cases for signatures, from botocore's tests: what we send to a store
for the same names, signed, against what botocore signs.

Each path and query of a case becomes the name of an object, which `store_cat`
lists and reads. A server on this machine compares every request with botocore's
signature of the same request.
"""

import hashlib
import http.server
import pathlib
import subprocess
import sys
import threading
import urllib.parse
import xml.sax.saxutils

import outcome

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lib/storage/testing/faulty_server"))

import signature  # noqa: E402

STORE_CAT = ROOT / "bazel-bin/lib/storage/store_cat"
LIMIT_S = 60
# Those of the suite.
KEY = "AKIDEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "a+token/with==odd characters"
WAYS = {"": {}, " with a token": {"AWS_SESSION_TOKEN": TOKEN}}
CONTENT = b"what the object holds"


def cases(folder):
    suite = sorted(folder.glob("source/*/tests/unit/auth/aws4_testsuite"))
    # Many differ in headers only.
    by_name = {target(path): path for path in suite[0].rglob("*.req")}
    return sorted(
        f"{path.relative_to(folder)}{way}"
        for path in by_name.values()
        for way in WAYS
    )


def target(path):
    """Path and query of a request in the suite, which need not be a URL."""
    line = path.read_text().partition("\n")[0]
    return line.partition(" ")[2].rpartition(" ")[0]


class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):  # noqa: N802
        server = self.server
        headers = {k.lower(): v for k, v in self.headers.items()}
        try:
            signature.check(
                self.command,
                self.path,
                headers,
                {KEY: (SECRET, server.token)},
                "us-east-1",
            )
            server.right += 1
        except signature.Refused as refused:
            server.wrong.append(f"{self.path}: {refused}")
        url = urllib.parse.urlsplit(self.path)
        tag = hashlib.md5(CONTENT).hexdigest()
        body = CONTENT
        if "list-type=" in url.query:
            name = xml.sax.saxutils.escape(server.name)
            body = (
                '<?xml version="1.0"?><ListBucketResult><IsTruncated>false'
                f"</IsTruncated><Contents><Key>{name}</Key><Size>"
                f"{len(CONTENT)}</Size><ETag>&quot;{tag}&quot;</ETag>"
                "</Contents></ListBucketResult>"
            ).encode()
        elif urllib.parse.unquote(url.path) != f"/bucket/{server.name}":
            server.wrong.append(f"asks for {url.path}")
        self.send_response(200)
        self.send_header("ETag", f'"{tag}"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815


def compare(folder, case):
    case, token, _ = case.partition(" with")
    prefix = urllib.parse.unquote(target(folder / case))[1:]
    # Names that end in a slash mark folders.
    ends = prefix == "" or prefix.endswith("/")
    name = f"{prefix}object" if ends else prefix
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        **(WAYS[" with a token"] if token else {}),
    }
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    server.token = TOKEN if token else None
    server.name, server.right, server.wrong = name, 0, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = subprocess.run(
            [
                STORE_CAT,
                "--digest",
                f"--endpoint=http://127.0.0.1:{server.server_port}",
                f"s3://bucket/{prefix}",
            ],
            capture_output=True,
            env=environment,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    finally:
        server.shutdown()
        server.server_close()
    said = (done.stderr.strip().splitlines() or [""])[-1]
    if server.wrong:
        return outcome.unexplained(server.wrong[0])
    if done.returncode != 0:
        if "rename the object" in said:
            return outcome.refused(f"{said} (docs/storage.md)")
        return outcome.unexplained(f"exit {done.returncode}: {said}")
    if server.right < 1:
        return outcome.unexplained("nothing was asked for")
    if hashlib.md5(CONTENT).hexdigest() not in done.stdout:
        return outcome.unexplained(f"reads something else: {done.stdout}")
    return outcome.equal()
