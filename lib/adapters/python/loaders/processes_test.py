"""Processes of a loader: apart, counted, and gone with their parent."""

import os
import signal
import time
import unittest
from multiprocessing.connection import Client, Listener

from loaders import processes


def spin(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


class ApartTest(unittest.TestCase):
    def test_value(self):
        here = os.getpid()
        value = processes.run_apart(lambda: [os.getpid(), os.getppid()])
        self.assertNotEqual(value[0], here)
        self.assertEqual(value[1], here)

    def test_a_large_value(self):
        self.assertEqual(len(processes.run_apart(lambda: "x" * 300000)), 300000)

    def test_failure(self):
        def fail():
            # What it prints would look like a failure of this test.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            raise ValueError("on purpose")

        with self.assertRaisesRegex(RuntimeError, "ValueError: on purpose"):
            processes.run_apart(fail)

    def test_a_signal(self):
        with self.assertRaisesRegex(RuntimeError, "died of SIGSEGV"):
            processes.run_apart(lambda: os.kill(os.getpid(), signal.SIGSEGV))


class CpuTest(unittest.TestCase):
    def test_children_that_ended_count(self):
        before = processes.cpu_s()
        processes.run_apart(lambda: spin(0.05))
        self.assertGreaterEqual(processes.cpu_s() - before, 0.05)

    def test_children_that_run_count(self):
        done, ready = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            spin(0.1)
            os.write(ready[1], b".")
            os.read(done[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        running = processes.cpu_s([pid]) - processes.cpu_s()
        os.write(done[1], b".")
        os.waitpid(pid, 0)
        # The kernel counts in ticks of 10 ms.
        self.assertGreater(running, 0.05)
        self.assertEqual(processes._running_cpu_s(pid), 0)
        for fd in (*done, *ready):
            os.close(fd)


class FilesTest(unittest.TestCase):
    def test_sockets_have_no_name(self):
        processes.leave_no_files()
        with Listener() as listener:
            self.assertTrue(listener.address.startswith(b"\0"))
            with Client(listener.address) as client, listener.accept() as end:
                end.send("hello")
                self.assertEqual(client.recv(), "hello")


if __name__ == "__main__":
    unittest.main()
