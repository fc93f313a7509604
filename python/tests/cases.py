"""Images that tell which they are, for the tests of feedrate.Loader."""

import contextlib
import http.server
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import feedrate  # noqa: E402


def image(number, height=20, width=24):
    """All pixels are (number % 256, number // 256, 7)."""
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[:] = (number % 256, number // 256, 7)
    return pixels


def noisy(count, seed=1, height=40, width=48):
    return np.random.default_rng(seed).integers(
        0, 256, (count, height, width, 3), dtype=np.uint8
    )


def ids(images):
    """The numbers of a batch of uint8 in NCHW."""
    pixels = np.asarray(images)[:, :, 0, 0].astype(int)
    assert (pixels[:, 2] == 7).all(), pixels
    return list(pixels[:, 0] + 256 * pixels[:, 1])


def npy(pixels):
    text = io.BytesIO()
    np.save(text, pixels)
    return text.getvalue()


def write(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(npy(pixels))


def write_jpegs(folder, count, classes=2, height=60, width=70):
    """count JPEGs of noise, CLASS/NUMBER.jpg, every eighth of 20 rows."""
    from PIL import Image

    for i, pixels in enumerate(noisy(count, height=height, width=width)):
        path = folder / f"class{i % classes}" / f"{i:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = 20 if i % 8 == 0 else height
        Image.fromarray(pixels[:rows]).save(path, quality=90)


def write_tree(folder):
    """A folder with links, formats and files as strangers have them. Its
    classes are "a b", "a-b", "b" and "c", which is a link."""
    from PIL import Image

    root, far = folder / "tree", folder / "far"
    for i, name in enumerate(
        (
            "a b/1.jpg",
            "a-b/1.webp",
            "a-b/2.BMP",
            "b/1.png",
            "b/deep/er/2.JPEG",
            "b/3.ppm",
            "../far/1.pgm",
            "beside.jpg",
        )
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = "L" if path.suffix == ".pgm" else "RGB"
        Image.fromarray(noisy(1, seed=i)[0]).convert(mode).save(path)
    (root / "c").symlink_to(far)
    (root / "b/4.jpg").symlink_to(far / "1.pgm")
    for name in ("notes.txt", "b/more.txt", "b/LICENSE"):
        (root / name).write_text("no image")
    return root


def write_shards(folder, count, shards, label):
    """Samples 000.npy and, if there is a label, 000.cls."""
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(shards):
        path = folder / f"train-{shard:03}.tar"
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for i in range(shard, count, shards):
                members = {f"{i:03}.npy": npy(image(i))}
                if label is not None:
                    members[f"{i:03}.cls"] = str(label(i)).encode()
                for name, data in sorted(members.items()):
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


@contextlib.contextmanager
def store(python, folder):
    """The port of a server of the folder that speaks S3, GCS and HTTP."""
    server = ROOT / "lib/storage/testing/faulty_server/server.py"
    with subprocess.Popen(
        [python, "-B", server, f"--folder={folder}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


class _Plain(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data = self.server.files[self.path.partition("?")[0]]
        begin, end = 0, len(data)
        if given := self.headers["Range"]:
            begin, last = map(int, given.removeprefix("bytes=").split("-"))
            end = min(last + 1, end)
        self.send_response(206 if given else 200)
        if given:
            self.send_header(
                "Content-Range", f"bytes {begin}-{end - 1}/{len(data)}"
            )
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        self.wfile.write(data[begin:end])

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def plain_server(files):
    """A web server of `files`, bytes by path, that names no versions."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Plain) as server:
        server.files = files
        threading.Thread(target=server.serve_forever).start()
        try:
            yield server
        finally:
            server.shutdown()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def loader(self, source, **arguments):
        """Bytes as numpy arrays, in small batches, unless told otherwise."""
        given = {
            "batch_size": 8,
            "crop": 16,
            "dtype": "uint8",
            "output": "numpy",
            "workers": 2,
            **arguments,
        }
        loader = feedrate.Loader(source, **given)
        self.addCleanup(loader.close)
        return loader

    def array(self, count=100):
        return np.stack([image(i) for i in range(count)])

    def numbers(self, loader):
        return [number for batch in loader for number in ids(batch[0])]
