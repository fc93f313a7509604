"""server.py from the runner's side: jobs, faults, garbage, and the end."""

import json
import os
import pathlib
import signal
import socket
import unittest

import numpy as np
from testing import worker

FOLDER = pathlib.Path(__file__).resolve().parent
IMAGES = [
    np.arange(6 * 5 * 3, dtype=np.uint8).reshape(6, 5, 3),
    np.full((2, 3, 3), 9, np.uint8),
]


def start(*libraries):
    flags = [f"--library_folder={FOLDER / 'testing' / 'libraries'}"]
    return worker.Server(libraries or ["trivial"], flags=flags)


def prepare(native_op, *params):
    return {
        "op": "prepare",
        "library": "trivial",
        "transform": "Test",
        "native_op": native_op,
        "params": list(params),
        "wrap": "",
        "device": "cpu",
        "seed": 1,
    }


TIME = {
    "op": "time",
    "first": 0,
    "count": 2,
    "chunk": 1,
    "limit_s": 0,
    "seed": 7,
}


class ServerTest(unittest.TestCase):
    def setUp(self):
        self.server = start()
        self.corpus = worker.write_corpus(IMAGES)

    def tearDown(self):
        os.close(self.corpus)
        status, errors = self.server.close()
        self.assertEqual((status, errors), (0, ""))

    def child(self, *prepared):
        child = self.server.spawn("trivial", self.corpus)
        if prepared:
            self.assertNotIn("error", child.ask(prepare(*prepared)))
        return child

    def test_hello(self):
        hello = self.server.hello
        self.assertEqual(hello["hello"], 1)
        self.assertEqual(hello["pid"], self.server.process.pid)
        self.assertEqual(hello["versions"], {"trivial": "1.0"})
        self.assertGreater(hello["import_s"], 0)

    def test_a_job(self):
        child = self.child()
        reply = child.ask(prepare("invert"))
        self.assertEqual((reply["version"], reply["threads"]), ("1.0", 1))
        self.assertGreater(reply["clock_pair_s"], 0)
        reply = child.ask({**TIME, "first": 1, "count": 5, "chunk": 2})
        self.assertEqual((len(reply["samples_s"]), reply["items"]), (3, 5))
        self.assertGreaterEqual(reply["waited_s"], 0)
        for image, (output, layout) in zip(
            IMAGES, child.outputs([0, 1]), strict=True
        ):
            self.assertEqual(layout, "HWC")
            np.testing.assert_array_equal(output, 255 - image)
        end = child.close()
        self.assertEqual((end["pid"], end["status"]), (child.pid, 0))
        self.assertGreater(end["max_rss"], 1 << 20)

    def test_a_child_prepares_again(self):
        child = self.child("invert")
        child.ask(prepare("add", "amount=1"))
        np.testing.assert_array_equal(child.outputs([1])[0][0], IMAGES[1] + 1)
        child.close()

    def test_inputs_are_the_shared_memory(self):
        child = self.child("address")
        place = int(child.outputs([0])[0][0].view("<u8").item())
        with open(f"/proc/{child.pid}/maps") as maps:
            ranges = [
                [int(x, 16) for x in line.split()[0].split("-")]
                for line in maps
                if "/memfd:corpus" in line
            ]
        self.assertTrue(any(low <= place < high for low, high in ranges))
        child.close()

    def test_errors_are_replies_and_the_child_goes_on(self):
        child = self.child()
        for command, text in [
            (TIME, "RuntimeError: no transform is prepared"),
            (prepare("nothing"), "KeyError: 'nothing'"),
            (prepare("add", "amount"), "ParamError: .*NAME=VALUE"),
            ({**prepare("invert"), "device": "cuda"}, "ValueError: no device"),
            (prepare("fail"), None),
            (TIME, "RuntimeError: on purpose\nover two lines"),
            ({**TIME, "count": 0}, "ValueError: count 0"),
            ({"op": "dance"}, "ValueError: no command 'dance'"),
            ({}, "ValueError: no command None"),
            (b"garbage\n", "JSONDecodeError"),
            (b"[1]\n", "AttributeError"),
            (b"\n", "JSONDecodeError"),
            (b"\xff\xfe\n", "UnicodeDecodeError"),
        ]:
            reply = child.ask(command)
            if text is None:
                self.assertNotIn("error", reply)
            else:
                self.assertRegex(reply["error"], text)
                self.assertIn("Traceback", reply["traceback"])
        child.ask(prepare("invert"))
        self.assertEqual(child.ask(TIME)["items"], 2)
        self.assertEqual(child.close()["status"], 0)

    def test_what_the_library_prints_is_kept_apart(self):
        child = self.child("shout")
        self.assertEqual(child.ask(TIME)["items"], 2)
        self.assertEqual(
            sorted(child.close()["stderr"].split("\n")),
            ["", *["on standard error"] * 2, *["on standard output"] * 2],
        )

    def test_a_crash_is_seen_and_the_next_job_runs(self):
        child = self.child("crash")
        self.assertIsNone(child.ask(TIME))
        status = child.close()["status"]
        self.assertTrue(os.WIFSIGNALED(status))
        self.assertEqual(os.WTERMSIG(status), signal.SIGSEGV)
        child = self.child("invert")
        self.assertEqual(child.ask(TIME)["items"], 2)
        child.close()

    def test_a_library_that_leaves(self):
        child = self.child("leave")
        self.assertIsNone(child.ask(TIME))
        end = child.close()
        self.assertEqual(os.waitstatus_to_exitcode(end["status"]), 1)
        self.assertIn("library left", end["stderr"])

    def test_a_hang_is_killed(self):
        child = self.child("hang")
        child.send(TIME)
        os.kill(child.pid, signal.SIGKILL)
        self.assertEqual(os.WTERMSIG(child.close()["status"]), signal.SIGKILL)

    def test_children_at_once(self):
        children = [self.child("add", f"amount={i}") for i in range(8)]
        for i, child in enumerate(children):
            np.testing.assert_array_equal(
                child.outputs([0])[0][0], IMAGES[0] + np.uint8(i)
            )
        for child in reversed(children):
            self.assertEqual(child.close()["status"], 0)

    def test_two_hundred_forks(self):
        before = self.open_files()
        for i in range(200):
            child = self.child("invert")
            self.assertEqual(child.ask(TIME)["items"], 2, f"fork {i}")
            self.assertEqual(child.close()["status"], 0)
        self.assertEqual(self.open_files(), before)

    def open_files(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def test_garbage_to_the_server(self):
        before = self.open_files()
        for message, fds in [
            (b"garbage\n", []),
            (b"\n", []),
            (b"\xff\n", []),
            (b"7\n", []),
            ({"op": "dance"}, []),
            ({"op": "spawn"}, []),
            ({"op": "spawn", "library": "trivial"}, []),
            ({"op": "spawn", "library": "trivial"}, [0, 0]),
            ({"op": "spawn", "library": "none"}, [0, 0, 0, 0]),
            ({"op": "spawn", "library": "trivial"}, [0, 0, 0, 0, 0]),
            ({"op": "reap", "pid": 1}, []),
            ({"op": "reap", "pid": "x"}, []),
            ({"op": "reap"}, []),
        ]:
            self.assertIn("error", self.server.ask(message, fds))
        self.assertEqual(self.open_files(), before)
        child = self.child("invert")
        self.assertEqual(child.ask(TIME)["items"], 2)
        child.close()

    def test_a_line_in_pieces(self):
        reads = [os.pipe() for _ in range(3)]
        fds = [reads[0][0], reads[1][1], reads[2][1], self.corpus]
        line = (
            json.dumps({"op": "spawn", "library": "trivial"}).encode() + b"\n"
        )
        socket.send_fds(self.server.socket, [line[:1]], fds)
        for i in range(1, len(line)):
            self.server.socket.sendall(line[i : i + 1])
        pid = self.server.receive()["pid"]
        os.close(reads[0][1])
        for fd in fds[:3]:
            os.close(fd)
        self.assertEqual(os.read(reads[1][0], 10), b"")  # It ended at EOF.
        self.assertEqual(self.server.reap(pid)["status"], 0)
        for fd in (reads[1][0], reads[2][0]):
            os.close(fd)

    def test_a_corpus_that_is_none(self):
        empty = os.memfd_create("empty")
        child = self.server.spawn("trivial", empty)
        self.assertIn("ValueError", child.ask(prepare("invert"))["error"])
        child.close()
        os.close(empty)


class EndTest(unittest.TestCase):
    def test_children_die_with_the_connection(self):
        server = start()
        corpus = worker.write_corpus(IMAGES)
        children = [server.spawn("trivial", corpus) for _ in range(3)]
        for child in children:
            child.ask(prepare("hang"))
            child.send(TIME)
        self.assertEqual(server.close(), (0, ""))
        for child in children:
            self.assertFalse(os.path.exists(f"/proc/{child.pid}"))
        os.close(corpus)

    def test_children_die_with_the_server(self):
        server = start()
        corpus = worker.write_corpus(IMAGES)
        child = server.spawn("trivial", corpus)
        server.process.kill()
        server.process.wait()
        # The end of its pipe is the end of the child.
        self.assertEqual(child.read_rest(), b"")
        server.close()
        os.close(corpus)

    def test_ctrl_c_is_the_runners_business(self):
        with start() as server:
            server.process.send_signal(signal.SIGINT)
            self.assertIn("error", server.ask({"op": "dance"}))

    def test_a_library_that_is_not_there(self):
        server = start("nosuch")
        self.assertIn("LookupError: no file nosuch.py", server.hello["error"])
        status, errors = server.close()
        self.assertEqual(status, 1)
        self.assertIn("Traceback", errors)

    def test_a_package_that_is_not_installed(self):
        server = start("broken_import")
        self.assertRegex(server.hello["error"], "ModuleNotFoundError: .*absent")
        self.assertEqual(server.close()[0], 1)

    def test_a_library_beside_one_that_is_not_installed(self):
        corpus = worker.write_corpus(IMAGES)
        with start("broken_import", "trivial") as server:
            self.assertEqual(server.hello["versions"], {"trivial": "1.0"})
            child = server.spawn("trivial", corpus)
            self.assertNotIn("error", child.ask(prepare("invert")))
            message = {"op": "spawn", "library": "broken_import"}
            self.assertRegex(server.ask(message)["error"], "ModuleNotFound")
        os.close(corpus)


if __name__ == "__main__":
    unittest.main()
