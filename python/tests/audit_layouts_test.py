"""Data sets of `audit --make` in each layout, read by the library that owns it:
each item is there once, shows its number and has its label.

Layouts whose packages are missing are skipped, and named.
dev/checks/audit_codes_test.sh runs this in several environments.
"""

import io
import json
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python/feedrate/_audit"))

import _feedrate_codes as codes  # noqa: E402

ITEMS, VALIDATION, CLASSES, SIDE = 23, 12, 10, 128


def pixels(data):
    try:
        from PIL import Image
    except ImportError:  # TensorFlow's environment
        import tensorflow

        return tensorflow.io.decode_image(data).numpy()
    return np.asarray(Image.open(io.BytesIO(data)))


def folder(place):
    for path in place.glob("*/*.png"):
        yield int(path.stem), int(path.parent.name[-3:]), path.read_bytes()


def tar(place):
    for path in place.glob("*.tar"):
        with tarfile.open(path) as archive:
            files = {f.name: archive.extractfile(f).read() for f in archive}
        for name in files:
            if name.endswith(".png"):
                key = name.removesuffix(".png")
                yield int(key), int(files[f"{key}.cls"]), files[name]


def parquet(place):
    import pyarrow.parquet

    for row in pyarrow.parquet.read_table(place).to_pylist():
        yield row["id"], row["label"], row["image"]


def lmdb(place):
    import lmdb

    with lmdb.open(str(place), readonly=True).begin() as transaction:
        for key, value in transaction.cursor():
            yield int(key), struct.unpack("<I", value[:4])[0], value[4:]


def webdataset(place):
    import webdataset

    urls = [str(path) for path in sorted(place.glob("*.tar"))]
    for row in webdataset.WebDataset(urls, shardshuffle=False):
        yield int(row["__key__"]), int(row["cls"]), row["png"]


def hf_datasets(place):
    import datasets

    for row in datasets.load_from_disk(str(place)):
        yield row["id"], row["label"], np.asarray(row["image"])


def mds(place):
    import streaming

    streaming.base.util.clean_stale_shared_memory()
    data = streaming.StreamingDataset(local=str(place), batch_size=1)
    for at in range(len(data)):
        yield data[at]["id"], data[at]["label"], data[at]["image"]


def litdata(place):
    import litdata

    for row in litdata.StreamingDataset(str(place)):
        yield row["id"], row["label"], bytes(row["image"])


def rlds(place):
    import tensorflow_datasets as tfds

    builder = tfds.builder_from_directory(str(place))
    for episode in tfds.as_numpy(builder.as_dataset(split="train")):
        for step in episode["steps"]:
            yield step["id"], step["label"], step["observation"]["image"]


def tfrecord(place):
    import tensorflow

    files = [str(path) for path in place.glob("*.tfrecord")]
    for record in tensorflow.data.TFRecordDataset(files).as_numpy_iterator():
        features = tensorflow.train.Example.FromString(record).features.feature
        yield (
            features["id"].int64_list.value[0],
            features["image/class/label"].int64_list.value[0],
            features["image/encoded"].bytes_list.value[0],
        )


def lerobot(place):
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    data = LeRobotDataset("feedrate/audit", root=place)
    for at in range(len(data)):
        image = data[at]["observation.image"].numpy()
        yield data[at]["id"], data[at]["label"], image.transpose(1, 2, 0)


def clips(place):
    import av

    for path in place.glob("*/*.mp4"):
        with av.open(str(path)) as file:
            frames = [f.to_ndarray(format="rgb24") for f in file.decode()]
        yield int(path.stem), int(path.parent.name[-3:]), frames[-1]


READERS = [clips, folder, hf_datasets, lerobot, litdata, lmdb, mds, parquet]
READERS += [rlds, tar, tfrecord, webdataset]


class LayoutsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name, "ids")

    def make(self, layout):
        script = pathlib.Path(codes.__file__).with_name("make_items.py")
        numbers = map(str, (ITEMS, VALIDATION, CLASSES, SIDE))
        command = [sys.executable, "-B", script, self.place, layout, *numbers]
        done = subprocess.run(command, capture_output=True, text=True)
        if "needs the Python package" in done.stderr:
            line = done.stderr.strip().splitlines()[-1]
            self.skipTest(line)
        self.assertEqual(done.returncode, 0, done.stderr)
        manifest = json.loads((self.place / "feedrate_audit.json").read_text())
        self.assertEqual(manifest["layout"], layout)

    def check(self, reader):
        self.make(reader.__name__)
        for part, first, count in (
            ("train", 0, ITEMS),
            ("val", ITEMS, VALIDATION),
        ):
            numbers, labels, images = zip(
                *reader(self.place / part), strict=True
            )
            numbers = [int(number) for number in numbers]
            self.assertEqual(sorted(numbers), list(range(first, first + count)))
            self.assertEqual(
                [int(label) for label in labels],
                [number % CLASSES for number in numbers],
            )
            images = [pixels(i) if isinstance(i, bytes) else i for i in images]
            self.assertEqual(codes.read(np.stack(images)).items, numbers)

    def test_jsonl(self):
        self.make("jsonl")
        lines = (self.place / "train/00000.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        read = codes.read_tokens([row["input_ids"] for row in rows])
        self.assertEqual(read.items, list(range(ITEMS)))
        read = codes.read_tokens([list(row["text"].encode()) for row in rows])
        self.assertEqual(read.items, list(range(ITEMS)))


for one in READERS:
    name = f"test_{one.__name__}"
    setattr(LayoutsTest, name, lambda self, one=one: self.check(one))

if __name__ == "__main__":
    unittest.main()
