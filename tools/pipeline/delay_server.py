#!/usr/bin/env python3
"""A store that is far away: S3 over a folder, each answer so much later.

    delay_server.py --folder=DIR --delay_ms=20

Prints its port. Answers GET and HEAD of objects with ranges, and lists of a
bucket, which is a folder in DIR. Anyone may read. One process, any number of
connections at once: the delay is waited for, not worked for.
"""

import argparse
import asyncio
import hashlib
import pathlib
import sys
import urllib.parse
import xml.sax.saxutils


def etag(path):
    return f'"{hashlib.md5(path.read_bytes()).hexdigest()}"'


class Store:
    def __init__(self, folder, delay_s):
        self.folder = pathlib.Path(folder).resolve()
        self.delay_s = delay_s
        # Read once: the disk is not what is measured.
        self.objects = {
            str(path.relative_to(self.folder)): (path.read_bytes(), etag(path))
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(self.delay_s)
                self.answer(head.decode("latin-1"), writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, head, writer):
        lines = head.split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = dict(
            line.lower().split(": ", 1) for line in lines[1:] if ": " in line
        )
        url = urllib.parse.urlsplit(target)
        query = urllib.parse.parse_qs(url.query)
        path = urllib.parse.unquote(url.path).strip("/")
        if "list-type" in query:
            prefix = query.get("prefix", [""])[0]
            self.send(writer, 200, {}, self.list(path, prefix), method)
            return
        if path not in self.objects:
            body = b"<Error><Code>NoSuchKey</Code></Error>"
            self.send(writer, 404, {}, body, method)
            return
        data, tag = self.objects[path]
        code, extra = 200, {"ETag": tag, "Accept-Ranges": "bytes"}
        if "range" in headers:
            first, last = headers["range"].split("=")[1].split("-")
            begin, end = int(first), min(int(last or len(data)), len(data) - 1)
            extra["Content-Range"] = f"bytes {begin}-{end}/{len(data)}"
            code, data = 206, memoryview(data)[begin : end + 1]
        self.send(writer, code, extra, data, method)

    def list(self, bucket, prefix):
        entries = "".join(
            f"<Contents><Key>{xml.sax.saxutils.escape(name)}</Key>"
            f"<Size>{len(data)}</Size><ETag>{tag}</ETag></Contents>"
            for path, (data, tag) in self.objects.items()
            for name in [path[len(bucket) + 1 :]]
            if path.startswith(bucket + "/") and name.startswith(prefix)
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>'
            f"<IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
        ).encode()

    def send(self, writer, code, headers, body, method):
        lines = [
            f"HTTP/1.1 {code} X",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        if method == "GET":
            writer.write(body)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--delay_ms", type=float, default=20)
    flags = parser.parse_args()
    store = Store(flags.folder, flags.delay_ms / 1e3)
    server = await asyncio.start_server(
        store.serve, "127.0.0.1", 0, limit=1 << 16
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    sys.stdout.close()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
