"""Shuffled epochs, ranks and continued epochs of a loader, by the ids that its
items show.

    <environment>/bin/python -m library_tests.loader_audit_test \
        --packages=ENV LIBRARY

dev/checks/python_loader_test.sh runs it. `pipeline --audit` does the same and
more for all loaders; this test says what is expected of each.
"""

import argparse
import os
import pathlib
import sys
import tarfile
import tempfile
import unittest

import item_ids
import numpy as np
from testing import loading, pictures, worker
from testing.cells import photograph

ITEMS = 43
BATCH = 4
# Those that can continue an epoch in another process.
STATEFUL = {
    "dali",
    "dali_dynamic",
    "grain",
    "litdata",
    "streaming",
    "tfdata",
    "torchdata",
}
# Those whose ranks get items twice or leave some out by default, and how many:
# LitData fills the batches of each of four loader workers.
LEFT_OUT = {
    "ffcv": 0,
    "litdata": 4 * BATCH,
    "pillow": 0,
    "spdl": 1,
    "streaming": 0,
    "torchdata": 0,
}
SHARDS = {"webdataset"}
# Those whose order cannot be repeated.
WITHOUT_SEED = {"datago"}
# Those whose batches come as tasks end, which is often the same order.
ANY_ORDER = {"ray"}
# Shards go to whole loader workers, so batches depend on their number; DALI and
# the others fill batches in one order.
BY_WORKERS = {"litdata", "webdataset"}
FLAGS = None


def flat(batches):
    return [item for batch in batches for item in batch]


def write_records(paths, folder):
    """The files as tf.train.Example, in two TFRecord files."""
    import tensorflow as tf

    files = [folder / "a.tfrecord", folder / "b.tfrecord"]
    for file, some in zip(files, (paths[:20], paths[20:]), strict=True):
        with tf.io.TFRecordWriter(os.fspath(file)) as writer:
            for path in some:
                data = tf.train.BytesList(value=[path.read_bytes()])
                feature = {"image/encoded": tf.train.Feature(bytes_list=data)}
                features = tf.train.Features(feature=feature)
                example = tf.train.Example(features=features)
                writer.write(example.SerializeToString())
    return files


def write_parquet(paths, folder):
    """The files as rows, in two Parquet files of several groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = [folder / "a.parquet", folder / "b.parquet"]
    for file, some in zip(files, (paths[:20], paths[20:]), strict=True):
        rows = [{"bytes": p.read_bytes(), "path": p.name} for p in some]
        pq.write_table(pa.table({"image": rows}), file, row_group_size=7)
    return files


def write_lmdb(paths, folder):
    """The files in one LMDB."""
    import lmdb

    file = folder / "data.mdb"
    environment = lmdb.open(os.fspath(file), subdir=False, map_size=2**26)
    with environment, environment.begin(write=True) as transaction:
        for path in paths:
            transaction.put(path.stem.encode(), path.read_bytes())
    return [file]


class AuditTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        flags = ["--loader"]
        if FLAGS.packages:
            flags.append(f"--packages={FLAGS.packages}")
        cls.server = worker.Server([FLAGS.library], flags=flags)
        if "hello" not in cls.server.hello:
            raise RuntimeError(f"the server said {cls.server.hello}")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.paths = cls.write(pathlib.Path(folder.name))

    @classmethod
    def tearDownClass(cls):
        status, errors = cls.server.close()
        assert status == 0, errors

    @staticmethod
    def write(folder):
        paths = []
        for item in range(ITEMS):
            image = np.empty((230, 240, 3), np.uint8)
            image[:] = item_ids.color_of(item)
            paths.append(folder / f"{item:04d}.png")
            paths[-1].write_bytes(pictures.png(image))
        if FLAGS.source == "tfrecord":
            return write_records(paths, folder)
        if FLAGS.source == "parquet":
            return write_parquet(paths, folder)
        if FLAGS.source == "lmdb":
            return write_lmdb(paths, folder)
        if FLAGS.library not in SHARDS:
            return paths
        shards = []
        for number in range(0, ITEMS, 5):
            shards.append(folder / f"{number:04d}.tar")
            with tarfile.open(shards[-1], "w") as tar:
                for path in paths[number : number + 5]:
                    tar.add(path, path.name)
        return shards

    def child(self, **changes):
        fd = loading.write_list(self.paths)
        child = self.server.spawn(FLAGS.library, fd)
        os.close(fd)
        self.addCleanup(child.close)
        settings = {
            "source": FLAGS.source,
            "batch_size": BATCH,
            "shuffle": True,
            "persistent": True,
            "on_error": "fail",
        }
        reply = child.ask(
            {
                "op": "prepare",
                "library": FLAGS.library,
                "native_op": FLAGS.native_op,
                "params": FLAGS.params,
                "device": "cpu",
                "loader": loading.of_files(**settings | changes),
            }
        )
        self.assertNotIn("error", reply)
        return child

    def epoch(self, child, **changes):
        reply = child.ask(loading.epoch(ITEMS, ids=True, **changes))
        self.assertNotIn("error", reply)
        self.assertEqual(reply["unreadable"], 0)
        self.assertEqual(reply["items"], len(flat(reply["ids"])))
        return reply

    def ids(self, child, **changes):
        return self.epoch(child, **changes)["ids"]

    def test_every_epoch_has_each_item_once_in_a_new_order(self):
        child = self.child()
        first, second = self.ids(child), self.ids(child, epoch=1)
        for epoch in (first, second):
            self.assertEqual(sorted(flat(epoch)), list(range(ITEMS)))
        self.assertNotEqual(first, second)
        self.assertNotEqual(flat(first), list(range(ITEMS)))
        if FLAGS.library in ANY_ORDER:
            return
        if FLAGS.library in WITHOUT_SEED:
            self.assertNotEqual(self.ids(self.child()), first)
            return
        self.assertEqual(self.ids(self.child()), first)
        self.assertNotEqual(self.ids(self.child(), seed=8), first)
        other = self.ids(self.child(workers=1))
        self.assertEqual(other == first, FLAGS.library not in BY_WORKERS)

    def test_ranks_share_an_epoch(self):
        ranks = [self.ids(self.child(rank=rank, ranks=2)) for rank in range(2)]
        self.assertNotEqual(ranks[0], ranks[1])
        items = flat(ranks[0]) + flat(ranks[1])
        if FLAGS.library in LEFT_OUT:
            self.assertEqual(len(ranks[0]), len(ranks[1]))
            left_out = ITEMS - len(set(items))
            self.assertLessEqual(left_out, LEFT_OUT[FLAGS.library])
        else:
            self.assertEqual(sorted(items), list(range(ITEMS)))

    def test_an_epoch_continues_in_another_process(self):
        begun = self.epoch(self.child(), batches=3)
        if FLAGS.library not in STATEFUL:
            self.assertNotIn("state", begun)
            return
        whole = self.ids(self.child())
        self.assertEqual(begun["ids"], whole[:3])
        rest = self.ids(self.child(), state=begun["state"])
        self.assertEqual(rest, whole[3:])

    def test_ffcv_stores_files_as_they_are_decoded_elsewhere(self):
        if FLAGS.library != "ffcv":
            self.skipTest("of FFCV's file")
        import PIL.Image

        image = photograph(260, 300, 1)
        rgb = PIL.Image.fromarray(image)
        turned = PIL.Image.Exif()
        turned[0x0112] = 6
        folder = self.paths[0].parent
        names = (
            "plain.jpg",
            "turned.jpg",
            "cmyk.jpg",
            "pixels.png",
            "small.jpg",
        )
        paths = [folder / name for name in names]
        rgb.save(paths[0], quality=95)
        rgb.save(paths[1], quality=95, exif=turned)
        rgb.convert("CMYK").save(paths[2], quality=95)
        rgb.save(paths[3])
        small = photograph(200, 240, 2)
        PIL.Image.fromarray(small).save(paths[4], quality=95)
        self.paths = paths
        child = self.child(crop_position="center", shuffle=False)
        outputs = child.outputs(range(len(paths)))
        for name, (output, _) in zip(names, outputs, strict=True):
            with self.subTest(name):
                source = small if name == "small.jpg" else image
                off = np.abs(output - loading.flipped_center(source))
                self.assertLess(off.mean(), 0.1)

    def test_ffcv_ends_with_batches_that_nobody_took(self):
        if FLAGS.library != "ffcv":
            self.skipTest("of FFCV's thread")
        child = self.child(shuffle=False)
        # As many as are made ahead, one more and one less, after the first.
        for batches in (2, 3, 4):
            reply = child.ask(loading.epoch(batches * BATCH))
            self.assertEqual(reply["items"], batches * BATCH)


def main():
    global FLAGS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--packages", default="")
    parser.add_argument("--source")
    FLAGS, rest = parser.parse_known_args()
    if not FLAGS.source:
        FLAGS.source = "shards" if FLAGS.library in SHARDS else "files"
    flips = {
        "dali": ("flip", ["horizontal=1"]),
        "dali_dynamic": ("flip", ["horizontal=1"]),
        "ffcv": ("RandomHorizontalFlip", ["flip_prob=1.0"]),
        "pillow": ("ImageOps.mirror", []),
        "tfdata": ("flip_left_right", []),
    }
    FLAGS.native_op, FLAGS.params = flips.get(
        FLAGS.library, ("RandomHorizontalFlip", ["p=1"])
    )
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
