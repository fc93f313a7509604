#!/usr/bin/env python3
"""A cloud on one machine, for Google's own client.

    gce_cloud.py ADDRESS STORAGE FOLDER BOOT

Serves at ADDRESS (such as 127.0.24.1), port 80: the metadata server of a
machine, the part of the Compute API that creates, describes and deletes
machines, and Cloud Storage, which it forwards to the emulator at STORAGE
(HOST:PORT). Creating a machine runs `BOOT NAME SCRIPT`, deleting it kills that
process; SCRIPT is the start-up script out of the request. The first machine
that has stored rows is taken away at that moment, as a preemptible one may be.
FOLDER gets events.log and the scripts.
"""

import http.server
import json
import pathlib
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

ACCOUNT = "robot@some-project.iam.gserviceaccount.com"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
METADATA = {
    "project/project-id": "some-project",
    "project/numeric-project-id": "123456",
    "universe/universe-domain": "googleapis.com",
    "instance/service-accounts/": f"default/\n{ACCOUNT}/\n",
    "instance/service-accounts/default/email": ACCOUNT,
    f"instance/service-accounts/{ACCOUNT}/email": ACCOUNT,
    f"instance/service-accounts/{ACCOUNT}/scopes": f"{SCOPE}\n",
}
TOKEN = {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}
# Not for the next hop, or made anew.
HOP = ("connection", "content-length", "date", "server", "transfer-encoding")


class Cloud:
    """Machines by name, and what happened."""

    def __init__(self, storage, folder, boot):
        self.storage = storage
        self.folder = pathlib.Path(folder)
        self.boot = boot
        self.machines = {}
        self.uploads = {}
        self.preempted = False
        self.lock = threading.Lock()

    def say(self, text):
        with open(self.folder / "events.log", "a") as log:
            log.write(text + "\n")

    def create(self, request):
        name = request["name"]
        (script,) = (
            item["value"]
            for item in request["metadata"]["items"]
            if item["key"] == "startup-script"
        )
        path = self.folder / f"{name}.sh"
        path.write_text(script)
        process = subprocess.Popen([self.boot, name, path])
        run_id = re.search(r"^RUN_ID='?([^'\n]+)", script, re.M)[1]
        self.machines[name] = (process, run_id)
        self.say(f"created {name} {request['machineType'].rpartition('/')[2]}")

    def delete(self, name, why):
        process, _ = self.machines.pop(name)
        process.kill()
        process.wait()
        self.say(f"{why} {name}")

    def stored(self, name):
        """An object is whole."""
        self.say(f"stored {name}")
        with self.lock:
            if self.preempted or "/results/" not in name:
                return
            for machine, (_, run_id) in list(self.machines.items()):
                if run_id in name:
                    self.preempted = True
                    self.delete(machine, "preempted")


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    cloud = None

    def answer(self, body, status=200, headers=None):
        kind = "application/text"
        if isinstance(body, dict):
            body, kind = json.dumps(body), "application/json"
        if isinstance(body, str):
            body = body.encode()
        if headers is None:
            headers = [("Metadata-Flavor", "Google"), ("Content-Type", kind)]
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def missing(self):
        self.answer({"error": {"code": 404, "message": "not found"}}, 404)

    def metadata(self, path):
        if path.endswith("/token"):
            self.answer(TOKEN)
        elif path in METADATA:
            self.answer(METADATA[path])
        elif path.rstrip("/").endswith(("default", ACCOUNT)):
            self.answer({"email": ACCOUNT, "scopes": [SCOPE]})
        else:
            self.missing()

    def compute(self, path, body):
        """Everything is done when it is answered."""
        zone, _, rest = path.partition("/instances")
        name = rest.strip("/")
        machines = self.cloud.machines
        link = f"http://{self.headers['Host']}"
        target = name or json.loads(body or "{}").get("name", "")
        done = {
            "kind": "compute#operation",
            "name": "operation-1",
            "operationType": "insert" if self.command == "POST" else "delete",
            "status": "DONE",
            "zone": f"{link}{zone}",
            "selfLink": f"{link}{zone}/operations/operation-1",
            "targetLink": f"{link}{zone}/instances/{target}",
        }
        if "/operations/" in path:
            self.answer(done)
        elif "/instances" not in path:
            self.answer({"name": path.rpartition("/")[2], "status": "UP"})
        elif self.command == "POST":
            self.cloud.create(json.loads(body))
            self.answer(done)
        elif name not in machines:
            self.missing()
        elif self.command == "DELETE":
            self.answer(done)
            self.cloud.delete(name, "deleted")
        else:
            self.answer({"name": name, "status": "RUNNING"})

    def forward(self, body):
        """To the emulator, which knows one of the two places for uploads."""
        path = self.path.replace("/resumable/upload/", "/upload/", 1)
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in (*HOP, "accept-encoding")
        }
        request = urllib.request.Request(
            f"http://{self.cloud.storage}{path}",
            body if self.command in ("POST", "PUT") else None,
            headers,
            method=self.command,
        )
        try:
            reply = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            reply = error
        data = reply.read()
        fields = [
            (name, value)
            for name, value in reply.headers.items()
            if name.lower() not in HOP
        ]
        query = urllib.parse.parse_qs(urllib.parse.urlparse(path).query)
        if "uploadType" in query and "upload_id" not in query:
            place = urllib.parse.urlparse(reply.headers.get("Location", ""))
            started = urllib.parse.parse_qs(place.query)["upload_id"][0]
            self.cloud.uploads[started] = json.loads(body)["name"]
        elif "upload_id" in query and reply.status == 200:
            self.cloud.stored(self.cloud.uploads[query["upload_id"][0]])
        self.answer(data, reply.status, fields)

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urllib.parse.urlparse(self.path).path
        if path.startswith("/computeMetadata/v1/"):
            self.metadata(path.removeprefix("/computeMetadata/v1/"))
        elif path.startswith("/compute/"):
            self.compute(path, body)
        else:
            self.forward(body)

    do_DELETE = do_POST = do_PUT = do_GET

    def log_message(self, *_):
        pass


def main(arguments):
    address, storage, folder, boot = arguments
    Handler.cloud = Cloud(storage, folder, boot)
    http.server.ThreadingHTTPServer((address, 80), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
