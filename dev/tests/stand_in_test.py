#!/usr/bin/env python3
"""A program with a stand-in for its library starts, and calls return zero."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import stand_in

COMPILER = "g++"
REAL = """extern "C" int used() { return 7; }
extern "C" int other() { return 8; }
extern "C" int unused() { return 9; }
"""
MAP = "ONE { global: used; unused; }; TWO { global: other; };"
USER = """extern "C" int used(); extern "C" int other();
extern "C" int twice() { return 2 * used() + other(); }
extern "C" int plain() { return 1; }
"""
PROGRAM = """extern "C" int twice(); extern "C" int plain();
int main(int argc, char**) { return argc > 1 ? twice() : plain(); }
"""


class StandInTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, name, source, *flags):
        path = self.folder / f"{name}.cc"
        path.write_text(source)
        subprocess.run(
            [COMPILER, "-fPIC", str(path), "-o", str(self.folder / name)]
            + [*flags],
            check=True,
        )

    def run_program(self, *arguments):
        return subprocess.run(
            [self.folder / "program", *arguments],
            env={**os.environ, "LD_LIBRARY_PATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )

    def test_what_is_linked_is_there_and_gives_zero(self):
        versions = self.folder / "map"
        versions.write_text(MAP)
        here = f"-L{self.folder}"
        self.build(
            "libreal.so.1",
            REAL,
            *("-shared", "-Wl,-soname,libreal.so.1"),
            f"-Wl,--version-script={versions}",
        )
        self.build(
            "libuser.so", USER, "-shared", "-Wl,-z,now", here, "-l:libreal.so.1"
        )
        self.build(
            "program", PROGRAM, here, "-luser", f"-Wl,-rpath-link,{self.folder}"
        )
        self.assertEqual(self.run_program("call").returncode, 22)
        real = self.folder / "real"
        (self.folder / "libreal.so.1").rename(real)
        user = self.folder / "libuser.so"
        self.assertEqual(
            stand_in.wanted(real, [user]), [("other", "TWO"), ("used", "ONE")]
        )
        output = str(self.folder / "libreal.so.1")
        stand_in.main([COMPILER, output, str(real), str(user)])
        # Not a word of the dynamic linker about missing versions either.
        started = self.run_program()
        self.assertEqual((started.returncode, started.stderr), (1, ""))
        called = self.run_program("call")
        self.assertEqual((called.returncode, called.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
