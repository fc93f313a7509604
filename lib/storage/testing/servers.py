"""Starts real servers on the loopback interface for a test."""

import contextlib
import datetime
import ipaddress
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
# Set STORE_CAT in the environment to use another build.
STORE_CAT = pathlib.Path(
    os.environ.get("STORE_CAT", ROOT / "bazel-bin/lib/storage/store_cat")
)
START_SECONDS = 60

# From AWS's own documentation; known to the faulty server.
KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
SESSION_KEY = "ASIAIOSFODNN7EXAMPLE"
SESSION_TOKEN = "good/session+token=="
GCS_TOKEN = "ya29.good-token"
AWS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}

# Tests must not use a proxy to reach their own machine.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetch(url, data=None, headers=None):
    request = urllib.request.Request(url, data, headers or {})
    with opener.open(request, timeout=START_SECONDS) as answer:
        return answer.read()


@contextlib.contextmanager
def running(command, url, log):
    """Returns the process once `url` responds; its output goes to `log`."""
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                fetch(url)
                break
            except urllib.error.HTTPError:
                break
            except OSError as error:
                late = time.monotonic() > deadline
                if late or process.poll() is not None:
                    said = pathlib.Path(log).read_text(errors="replace")
                    raise RuntimeError(f"{command}: {said}") from error
                time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def moto(folder):
    """The address of moto's S3."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1"]
    command += ["-p", str(port)]
    with running(command, url + "/moto-api/", f"{folder}/moto.log"):
        yield url


@contextlib.contextmanager
def gcs_emulator(folder):
    """The address of gcp-storage-emulator."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "gcp_storage_emulator", "start"]
    command += ["--in-memory", "--host=127.0.0.1", f"--port={port}"]
    with running(command, url + "/", f"{folder}/gcs.log"):
        yield url


class Faulty:
    """A running faulty_server/server.py."""

    def __init__(self, process, port):
        self.process = process
        self.url = f"http://127.0.0.1:{port}"

    def stats(self):
        return json.loads(fetch(self.url + "/_stats"))

    def set(self, **settings):
        fetch(self.url + "/_set?" + urllib.parse.urlencode(settings))


@contextlib.contextmanager
def faulty(**settings):
    """A Faulty; settings are the server's flags, True for boolean flags."""
    command = [sys.executable, "-B", str(HERE / "faulty_server/server.py")]
    for name, value in settings.items():
        command.append(f"--{name}" if value is True else f"--{name}={value}")
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield Faulty(process, int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


def write_certificate(folder):
    """A certificate for 127.0.0.1 and its key, as cert.pem and key.pem."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            pem,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


NGINX = """
pid {work}/nginx.pid;
error_log {work}/error.log;
daemon off;
worker_processes 1;
events {{ worker_connections 512; }}
http {{
  log_format short '$server_protocol $status $connection $request_uri';
  access_log {log};
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  client_body_temp_path {work}/body;
  proxy_temp_path {work}/proxy;
  fastcgi_temp_path {work}/fastcgi;
  uwsgi_temp_path {work}/uwsgi;
  scgi_temp_path {work}/scgi;
  server {{
    listen 127.0.0.1:{port};
    {tls}
    root {root};
    location /to_http/ {{
      rewrite ^/to_http(/.*)$ http://127.0.0.1:{port}$1 redirect;
    }}
    location /to_https/ {{
      rewrite ^/to_https(/.*)$ https://127.0.0.1:{tls_port}$1 redirect;
    }}
  }}
}}
"""

TLS = """
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {work}/cert.pem;
    ssl_certificate_key {work}/key.pem;
"""


@contextlib.contextmanager
def nginx(root, work, logged=True):
    """Addresses (http, https) of an nginx that serves the folder `root`."""
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        raise RuntimeError("nginx is not installed; run: make setup")
    work = pathlib.Path(work).resolve()
    write_certificate(work)
    port, tls_port = free_port(), free_port()
    log = f"{work}/access.log short" if logged else "off"
    config = NGINX.format(
        work=work,
        port=port,
        tls_port=tls_port,
        tls=TLS.format(port=tls_port, work=work),
        root=root,
        log=log,
    )
    # If nginx runs as root, its workers run as another user, who needs access.
    if os.geteuid() == 0:
        config = "user root;\n" + config
    (work / "nginx.conf").write_text(config)
    command = [program, "-c", str(work / "nginx.conf"), "-p", str(work)]
    url = f"http://127.0.0.1:{port}"
    with running(command, url + "/", f"{work}/nginx.log"):
        yield url, f"https://127.0.0.1:{tls_port}"


def store_cat(*arguments, env=None):
    """Runs it with only the variables `env`; returns the finished process."""
    variables = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    # Tests must not find the role of the machine that they run on.
    variables |= {"AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"}
    # Variables for the sanitizers, if it was built with them.
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            variables[name] = os.environ[name]
    return subprocess.run(
        [STORE_CAT, *arguments],
        env=variables | (env or {}),
        capture_output=True,
        # A hang ends here; on a busy machine an honest run may take minutes.
        timeout=600,
        text=True,
        errors="surrogateescape",
    )


def counts_of(done):
    """The transfer statistics that store_cat prints."""
    return json.loads(done.stderr.splitlines()[-1])
