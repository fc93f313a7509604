"""tf.data's mixtures through the worker's protocol: counts, faults, ends.

    <environment>/bin/python -m library_tests.mixture_test

dev/checks/python_mixture_test.sh runs it.
"""

import os
import pathlib
import signal
import tempfile
import unittest

from testing import episodes, loading, worker

SETTINGS = {
    "batch_size": 8,
    "samples_per_episode": 2,
    "decode_parallelism": 2,
    "frame_height": 32,
    "frame_width": 48,
    "on_error": "fail",
}


class MixtureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.temporary = temporary.name
        cls.server = worker.Server(
            ["tfdata"], flags=["--loader"], env={"TMPDIR": cls.temporary}
        )
        if "hello" not in cls.server.hello:
            raise RuntimeError(f"the server said {cls.server.hello}")

    @classmethod
    def tearDownClass(cls):
        status, errors = cls.server.close()
        assert status == 0, errors

    def tearDown(self):
        # However the children ended: a machine has thousands of runs.
        self.assertEqual(os.listdir(self.temporary), [])

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.sets = [
            episodes.write_set(self.folder, name, steps=5) for name in "ab"
        ]

    def child(self, sets=None, **changes):
        fd = episodes.write_list(sets or self.sets)
        child = self.server.spawn("tfdata", fd)
        os.close(fd)
        command = {"op": "prepare", "library": "tfdata", "device": "cpu"}
        command["mixture"] = SETTINGS | changes
        reply = child.ask(command)
        self.assertNotIn("error", reply)
        self.assertIn(".", reply["version"])
        return child

    def damaged(self, change):
        """The data sets, one shard of b changed, and its path."""
        path = pathlib.Path(self.sets[1]["shards"][0])
        path.write_bytes(change(path.read_bytes()))
        return str(path)

    def test_epochs(self):
        child = self.child(metadata="full")
        replies = [child.ask(loading.epoch(80)) for _ in range(2)]
        for reply in replies:
            self.assertEqual((reply["items"], reply["batches"]), (80, 10))
            self.assertEqual(reply["counts"], replies[0]["counts"])
            for pairs in reply["counts"]:
                self.assertEqual(sum(pairs[1::2]), 8)
                self.assertLessEqual(set(pairs[::2]), {0, 1})
            self.assertEqual(reply["times_s"], sorted(reply["times_s"]))
            self.assertGreater(reply["times_s"][0], reply["startup_s"])
            self.assertGreater(reply["bytes_out"], 80 * 2 * 32 * 48 * 3)
            self.assertGreater(reply["cpu_s"], 0)
        self.assertGreaterEqual(child.ask({"op": "stop"})["teardown_s"], 0)
        self.assertGreaterEqual(child.ask({"op": "stop"})["teardown_s"], 0)
        self.assertEqual(child.close()["status"], 0)

    def test_the_limit_stops_early(self):
        child = self.child()
        reply = child.ask(loading.epoch(10**9, limit_s=2))
        self.assertLess(reply["items"], 10**9)
        self.assertEqual(len(reply["times_s"]), reply["batches"])
        child.close()

    def test_a_wrong_checksum(self):
        def flip(data):
            middle = len(data) // 2
            byte = bytes([data[middle] ^ 1])
            return data[:middle] + byte + data[middle + 1 :]

        self.expect_named(flip, "corrupted record")

    def test_a_shard_that_is_cut_off(self):
        self.expect_named(lambda data: data[:-10], "truncated record")

    def expect_named(self, change, reason):
        path = self.damaged(change)
        child = self.child()
        error = child.ask(loading.epoch(400))["error"]
        self.assertIn(path, error)
        self.assertIn(reason, error)
        child.close()
        child = self.child(on_error="skip")
        reply = child.ask(loading.epoch(400))
        self.assertEqual(reply["items"], 400)
        self.assertEqual(reply["errors_total"], 1)
        self.assertEqual(reply["errors"][0]["path"], path)
        child.close()

    def test_a_frame_that_is_no_image(self):
        episode = episodes.example("b", 0, 4).replace(b"\xff\xd8\xff", b"???")
        self.sets[1]["shards"] = [
            episodes.write_shard(self.folder / "x.tfrecord", [episode]),
            *self.sets[1]["shards"],
        ]
        child = self.child()
        self.assertIn("error", child.ask(loading.epoch(400)))
        child.close()
        child = self.child(on_error="skip")
        reply = child.ask(loading.epoch(400))
        self.assertEqual(reply["items"], 400)
        self.assertGreater(reply["errors_total"], 0)
        child.close()

    def test_a_data_set_without_episodes(self):
        self.sets.insert(0, episodes.write_set(self.folder, "c", steps=2))
        child = self.child()
        self.assertIn("too few", child.ask(loading.epoch(400))["error"])
        child.close()
        child = self.child(on_error="skip")
        reply = child.ask(loading.epoch(400))
        self.assertEqual(reply["left_out"], ["c"])
        self.assertEqual(reply["errors_total"], 6)
        # Numbers are those of the list, c's among them.
        self.assertEqual({n for p in reply["counts"] for n in p[::2]}, {1, 2})
        child.close()

    def test_what_cannot_be(self):
        fd = episodes.write_list(self.sets)
        child = self.server.spawn("tfdata", fd)
        os.close(fd)
        command = {"op": "prepare", "library": "tfdata"}
        bad = {"mixture": {"nosuch": 1}}
        self.assertIn("nosuch", child.ask(command | bad)["error"])
        self.assertIn("error", child.ask(loading.epoch(8)))
        self.assertIn("no mixture", child.ask({"op": "stop"})["error"])
        child.close()

    def test_killed(self):
        child = self.child(metadata="full", on_error="skip")
        # With one epoch done it has made all that it makes.
        self.assertEqual(child.ask(loading.epoch(8))["items"], 8)
        child.send(loading.epoch(10**9))
        os.kill(child.pid, signal.SIGKILL)
        self.assertEqual(os.WTERMSIG(child.close()["status"]), signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
