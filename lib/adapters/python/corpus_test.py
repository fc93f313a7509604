"""The corpus: same bytes, no copy, and no trust in what it is handed."""

import os
import struct
import unittest

import numpy as np
from corpus import Corpus, CorpusError
from testing.worker import write_corpus


def images(layout="HWC", dtype=np.uint8):
    noise = np.random.default_rng(1)
    sizes = [(5, 7, 3), (11, 4, 3)]
    if layout == "CHW":
        sizes = [(3, 5, 7), (3, 11, 4)]
    return [(noise.random(size) * 255).astype(dtype) for size in sizes]


def mapping_of(address):
    """The line of /proc/self/maps that holds an address."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            if low <= address < high:
                return line
    raise LookupError(hex(address))


class ReadingTest(unittest.TestCase):
    def test_every_type_and_layout(self):
        for dtype in (np.uint8, np.float16, np.float32):
            for layout in ("HWC", "CHW"):
                with self.subTest(dtype=dtype, layout=layout):
                    arrays = images(layout, dtype)
                    corpus = Corpus(write_corpus(arrays, layout))
                    self.assertEqual((len(corpus), corpus.layout), (2, layout))
                    for i, array in enumerate(arrays):
                        self.assertEqual(corpus.item(i).dtype, dtype)
                        np.testing.assert_array_equal(corpus.item(i), array)

    def test_clips(self):
        clip = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)
        corpus = Corpus(write_corpus([clip]))
        np.testing.assert_array_equal(corpus.item(0), clip)


class ZeroCopyTest(unittest.TestCase):
    def test_items_are_the_shared_memory_itself(self):
        corpus = Corpus(write_corpus(images()))
        for i in range(2):
            address = corpus.item(i).__array_interface__["data"][0]
            line = mapping_of(address)
            self.assertIn("/memfd:corpus", line)
            self.assertIn("r--s", line)
            self.assertEqual(address % 64, 0)

    def test_items_cannot_be_written(self):
        corpus = Corpus(write_corpus(images()))
        with self.assertRaises(ValueError):
            corpus.item(0)[0, 0, 0] = 1

    def test_views_cost_no_memory(self):
        large = np.ones((4000, 4000, 3), np.uint8)
        corpus = Corpus(write_corpus([large]))
        with open("/proc/self/statm") as statm:
            before = statm.read().split()[1]
            views = [corpus.item(0) for _ in range(1000)]
            statm.seek(0)
            after = statm.read().split()[1]
        self.assertEqual(len(views), 1000)
        # 1,000 array objects, not 48 GB.
        self.assertLess(int(after) - int(before), 1024)


class BrokenTest(unittest.TestCase):
    def broken(self, offset, data):
        """A good corpus with some bytes changed."""
        good = write_corpus(images())
        size = os.fstat(good).st_size
        content = bytearray(os.pread(good, size, 0))
        content[offset : offset + len(data)] = data
        fd = os.memfd_create("broken")
        os.write(fd, content)
        return fd

    def test_header(self):
        for name, offset, data in [
            ("magic", 0, b"NOTACORP"),
            ("version", 8, struct.pack("<I", 2)),
            ("type", 12, struct.pack("<I", 3)),
            ("layout", 16, struct.pack("<I", 2)),
            ("no items", 24, struct.pack("<Q", 0)),
            ("too many items", 24, struct.pack("<Q", 1 << 40)),
            ("index past the end", 32, struct.pack("<Q", 1 << 40)),
            ("longer than the file", 48, struct.pack("<Q", 1 << 40)),
        ]:
            with self.subTest(name), self.assertRaises(CorpusError):
                Corpus(self.broken(offset, data))

    def test_index(self):
        for name, column, value in [
            ("offset past the end", 0, 1 << 40),
            ("negative offset", 0, -64),
            ("wrong size", 1, 1),
            ("no height", 3, 0),
            ("negative width", 4, -7),
        ]:
            fd = self.broken(64 + 8 * column, struct.pack("<q", value))
            with (
                self.subTest(name),
                self.assertRaises((CorpusError, TypeError)),
            ):
                Corpus(fd).item(0)

    def test_nothing_there(self):
        fd = os.memfd_create("short")
        os.write(fd, b"FRCORPUS")
        with self.assertRaisesRegex(CorpusError, "8 bytes"):
            Corpus(fd)


if __name__ == "__main__":
    unittest.main()
