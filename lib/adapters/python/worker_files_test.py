"""Files of workers that were killed."""

import os
import pathlib
import unittest

from worker_files import WorkerFiles


class WorkerFilesTest(unittest.TestCase):
    def test_files_of_the_dead_are_removed(self):
        files = WorkerFiles()
        pid = os.fork()
        if pid == 0:
            pathlib.Path(f"/dev/shm/torch_{os.getpid()}_1_2").touch()
            files.note(3, os.getpid())
            os._exit(0)
        os.waitpid(pid, 0)
        self.assertEqual(files.pids(), [pid])
        path = pathlib.Path(f"/dev/shm/torch_{pid}_1_2")
        other = pathlib.Path(f"/dev/shm/torch_{os.getpid()}_1_2")
        other.touch()
        self.addCleanup(other.unlink)
        self.assertTrue(path.exists())
        files.remove()
        self.assertFalse(path.exists())
        self.assertTrue(other.exists())

    def test_nobody(self):
        files = WorkerFiles()
        self.assertEqual(files.pids(), [])
        files.remove()


if __name__ == "__main__":
    unittest.main()
