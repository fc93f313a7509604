"""A web server that speaks like S3, GCS and a plain server, with faults.

    python server.py --objects=100 --bytes=65536 --fault_rate=0.05

prints its port and serves until its stdin ends or it is killed:

    /BUCKET/KEY                    S3; compares signatures with botocore's
    /storage/v1/b/BUCKET/o/KEY     GCS
    /web/KEY                       a plain web server
    /latest/, /token and so on     credentials; see roles.py
    /redirect/BUCKET/KEY           redirects to the same on localhost
    /circle/BUCKET/KEY             redirects to itself
    /_stats                        what it did so far, as JSON
    /_set?delay_ms=20&fault_rate=0 changes settings while it runs

Answers come after --delay_ms, and any number of them at once.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import socket
import struct
import sys
import urllib.parse

from api import S3, Answer, Gcs, Web, text_answer
from faults import KINDS, Faults
from objects import Objects
from roles import Roles

# The examples in AWS's own documentation.
KEYS = {
    "AKIAIOSFODNN7EXAMPLE": ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None),
    "ASIAIOSFODNN7EXAMPLE": (
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "good/session+token==",
    ),
    # What moto's metadata server hands out.
    "test-key": ("test-secret-key", "test-session-token"),
}
GCS_TOKEN = "ya29.good-token"


class Server:
    def __init__(self, arguments):
        objects = Objects(arguments.objects, arguments.bytes, arguments.folder)
        kinds = arguments.faults.split(",") if arguments.faults else None
        self.faults = Faults(
            arguments.fault_rate,
            kinds,
            arguments.seed,
            arguments.corrupt_parts,
        )
        self.s3 = S3(
            objects,
            KEYS,
            arguments.region,
            arguments.page,
            arguments.part_bytes,
        )
        self.gcs = Gcs(objects, GCS_TOKEN, arguments.page)
        self.web = Web(objects)
        self.roles = Roles(
            "ASIAIOSFODNN7EXAMPLE",
            *KEYS["ASIAIOSFODNN7EXAMPLE"],
            GCS_TOKEN,
            arguments.jwt_key,
        )
        self.delay_s = arguments.delay_ms / 1000
        self.counts = collections.Counter()
        self.statuses = collections.Counter()
        self.at_once = 0

    async def connection(self, reader, writer):
        self.counts["connections"] += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self.request(reader, writer):
                await writer.drain()
        writer.close()

    async def request(self, reader, writer):
        """Answers one request; False if the connection must be closed."""
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        pairs = (line.split(":", 1) for line in lines if line)
        headers = {name.strip().lower(): v.strip() for name, v in pairs}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if target.startswith("/_"):
            self.send(writer, "GET", self.control(target))
            return True
        elsewhere = self.roles.answer(method, target, headers, body)
        elsewhere = elsewhere or self.redirect(target, headers)
        if elsewhere:
            self.send(writer, method, elsewhere)
            return True
        self.counts["requests"] += 1
        self.at_once += 1
        self.counts["most_at_once"] = max(
            self.at_once, self.counts["most_at_once"]
        )
        try:
            await asyncio.sleep(self.delay_s)
            answer = self.api_of(target).answer(method, target, headers)
            if method == "HEAD":  # There is no body to damage.
                answer.object_range = answer.whole = False
            fault = self.faults.draw(answer.object_range, answer.whole)
            if method == "HEAD" and fault == "short_length":
                fault = None  # A lie that nobody could find out.
            self.statuses[answer.status] += 1
            if fault is None:
                self.send(writer, method, answer)
                return True
            return await self.go_wrong(fault, reader, writer, method, answer)
        finally:
            self.at_once -= 1

    def api_of(self, target):
        if target.startswith("/web/"):
            return self.web
        return self.gcs if target.startswith("/storage/v1/") else self.s3

    def redirect(self, target, headers):
        """The answer of a store whose objects are on another host."""
        port = headers["host"].partition(":")[2]
        if target.startswith("/circle/"):
            return Answer(307, {"Location": target})
        if not target.startswith("/redirect/"):
            return None
        if headers["host"].startswith("localhost"):
            return None
        self.counts["redirects"] += 1
        mark = "&" if "?" in target else "?"
        to = f"http://localhost:{port}{target}{mark}pid=t%5Bx%5D"
        return Answer(307, {"Location": to})

    def control(self, target):
        settings = dict(urllib.parse.parse_qsl(target.partition("?")[2]))
        if "delay_ms" in settings:
            self.delay_s = float(settings["delay_ms"]) / 1000
        if "fault_rate" in settings:
            self.faults.rate = float(settings["fault_rate"])
        if "faults" in settings:
            self.faults.kinds = settings["faults"].split(",")
        stats = {
            **self.counts,
            "signatures": self.s3.checked,
            "faults": self.faults.counts,
            "statuses": self.statuses,
        }
        return text_answer(200, "application/json", json.dumps(stats))

    def send(self, writer, method, answer, length=None):
        length = len(answer.body) if length is None else length
        lines = [f"HTTP/1.1 {answer.status} X", f"Content-Length: {length}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write("\r\n".join(lines + ["", ""]).encode("latin-1"))
        if method != "HEAD":
            writer.write(answer.body)

    async def go_wrong(self, fault, reader, writer, method, answer):
        """Makes a fault of KINDS; False if the connection must be closed."""
        half = answer.body[: len(answer.body) // 2]
        length = len(answer.body)
        if fault.startswith("status_"):
            status = int(fault.removeprefix("status_"))
            self.send(writer, method, text_answer(status, "text/plain", "no"))
            return True
        if fault == "slow_start":
            await asyncio.sleep(0.2)
            self.send(writer, method, answer)
            return True
        if fault == "drop":
            sock = writer.get_extra_info("socket")
            sock.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            writer.transport.abort()
            return False
        if fault == "garbage":
            writer.write(b"\x00\x01 no http\r\n\r\n" + half)
            return False
        if fault in ("stall", "stall_body"):
            if fault == "stall_body":
                answer.body = half
                self.send(writer, method, answer, length)
            await reader.read()  # Until the client gives up.
            return False
        if fault in ("truncate", "short_length"):
            answer.body = half
            said = length if fault == "truncate" else len(half)
            self.send(writer, method, answer, said)
            return fault == "short_length"
        self.damage(fault, answer)
        self.send(writer, method, answer)
        return True

    def damage(self, fault, answer):
        if fault == "wrong_bytes" and answer.body:
            at = self.faults.random.randrange(len(answer.body))
            damaged = bytearray(answer.body)
            damaged[at] ^= 1 << self.faults.random.randrange(8)
            answer.body = bytes(damaged)
        elif fault == "wrong_checksum":
            for name in ("x-amz-checksum-crc32c", "x-goog-hash"):
                if name in answer.headers:
                    wrong = "AAAAAA==" if name[2] == "a" else "crc32c=AAAAAA=="
                    answer.headers[name] = wrong
        elif fault == "too_long":
            answer.body += b"and more"
        elif fault == "wrong_range" and len(answer.body) > 1:
            answer.status = 206
            answer.body = answer.body[1:]
            last = answer.total - 1
            answer.headers["Content-Range"] = (
                f"bytes {last + 1 - len(answer.body)}-{last}/{answer.total}"
            )


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--objects", type=int, default=100)
    parser.add_argument("--bytes", type=int, default=65536)
    parser.add_argument("--folder", help="files to serve instead")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--page", type=int, default=1000, help="of a listing")
    parser.add_argument("--delay_ms", type=float, default=0)
    parser.add_argument("--fault_rate", type=float, default=0)
    parser.add_argument("--faults", help=f"of {','.join(KINDS)}")
    parser.add_argument(
        "--part_bytes", type=int, default=0, help="S3: uploaded in such parts"
    )
    parser.add_argument("--corrupt_parts", action="store_true")
    parser.add_argument("--jwt_key", help="PEM of the service account's key")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


async def main():
    arguments = parse_arguments()
    handler = Server(arguments)
    server = await asyncio.start_server(
        handler.connection, "127.0.0.1", arguments.port, backlog=512
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    # The parent process holds the other end: the server ends with it.
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(main())
