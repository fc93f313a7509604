"""A store (S3, without signatures) on this machine whose objects change between
requests, as somebody else's upload does."""

import contextlib
import hashlib
import http.server
import re
import threading
import urllib.parse


class Store:
    """`objects`: {name: [bytes of version 0, of 1]}. From request `change_at`
    on version 1 is there."""

    def __init__(self, objects):
        self.objects = objects
        self.requests = 0
        self.change_at = None
        self.lock = threading.Lock()

    def version(self):
        with self.lock:
            self.requests += 1
            changed = (
                self.change_at is not None and self.requests > self.change_at
            )
        return 1 if changed else 0

    def restart(self, change_at=None):
        self.requests, self.change_at = 0, change_at


def listing(store, version):
    entries = "".join(
        f"<Contents><Key>set/{name}</Key><Size>{len(of[version])}</Size>"
        f"<ETag>&quot;{etag(of[version])}&quot;</ETag></Contents>"
        for name, of in sorted(store.objects.items())
    )
    return (
        '<?xml version="1.0"?><ListBucketResult><IsTruncated>false'
        f"</IsTruncated>{entries}</ListBucketResult>"
    ).encode()


def etag(content):
    return hashlib.md5(content).hexdigest()


def handler(store):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, code, content=b"", headers=()):
            self.send_response(code)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def do_GET(self):  # noqa: N802
            version = store.version()
            url = urllib.parse.urlsplit(self.path)
            if "list-type" in url.query:
                return self.answer(200, listing(store, version))
            name = urllib.parse.unquote(url.path).rpartition("/")[2]
            if name not in store.objects:
                return self.answer(404)
            content = store.objects[name][version]
            tag = f'"{etag(content)}"'
            if self.headers.get("If-Match", tag) != tag:
                return self.answer(412)
            headers = [("ETag", tag), ("Accept-Ranges", "bytes")]
            wanted = re.match(
                r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")
            )
            if not wanted:
                return self.answer(200, content, headers)
            start = int(wanted[1])
            end = min(int(wanted[2] or len(content)), len(content) - 1)
            if start >= len(content):
                return self.answer(416)
            where = f"bytes {start}-{end}/{len(content)}"
            headers.append(("Content-Range", where))
            return self.answer(206, content[start : end + 1], headers)

        do_HEAD = do_GET  # noqa: N815

    return Handler


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Programs that are killed hang up."""


@contextlib.contextmanager
def serving(store):
    """The address of a server of this store."""
    server = Server(("127.0.0.1", 0), handler(store))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
