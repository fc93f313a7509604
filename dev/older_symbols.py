#!/usr/bin/env python3
"""Makes programs and libraries ask for older versions of two functions.

    dev/older_symbols.py FILE...

Everything that g++ 12 links on Debian 12 runs with glibc 2.34 and the libstdc++
of g++ 11 (RHEL 9, Ubuntu 22.04), except for the functions below. The linker
binds a function to its newest version. The older ones, which every newer glibc
and libstdc++ still has, do the same work: they differ in how hypot reports
errors and in what wait may throw. A file that needs another function of such a
version is an error.
"""

import pathlib
import struct
import sys

WAIT = "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
# Newer version: (functions, older versions, of which a processor has one).
OLDER = {
    "GLIBC_2.35": ({"hypot", "hypotf"}, ["GLIBC_2.2.5", "GLIBC_2.17"]),
    "GLIBCXX_3.4.30": ({WAIT}, ["GLIBCXX_3.4.11"]),
}


def hash_of(name):
    """The hash by which ELF files name a version."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value


class File:
    """Tables of a 64-bit little-endian ELF file, changed in memory."""

    def __init__(self, data):
        self.data = data
        self.sections = {}
        start, size, count, names = struct.unpack_from("<Q10xHHH", data, 40)
        headers = [
            struct.unpack_from("<IIQQQQIIQQ", data, start + i * size)
            for i in range(count)
        ]
        for header in headers:
            name = self.text(headers[names][4] + header[0])
            self.sections[name] = (header[4], header[5])

    def text(self, offset):
        return self.data[offset : self.data.index(0, offset)].decode()

    def functions(self, version):
        """Names of the symbols that have this version's number."""
        start, size = self.sections[".gnu.version"]
        symbols = self.sections[".dynsym"][0]
        strings = self.sections[".dynstr"][0]
        numbers = struct.unpack_from(f"<{size // 2}H", self.data, start)
        for i, number in enumerate(numbers):
            if number & 0x7FFF == version:
                (name,) = struct.unpack_from("<I", self.data, symbols + 24 * i)
                yield self.text(strings + name)

    def needed_versions(self):
        """(offset of the entry, number, name) of each needed version."""
        strings = self.sections[".dynstr"][0]
        library = self.sections[".gnu.version_r"][0]
        while True:
            _, count, _, entry, step = struct.unpack_from(
                "<HHIII", self.data, library
            )
            offset = library + entry
            for _ in range(count):
                _, _, number, name, following = struct.unpack_from(
                    "<IHHII", self.data, offset
                )
                yield offset, number & 0x7FFF, self.text(strings + name)
                offset += following
            if not step:
                return
            library += step

    def offset_of(self, name):
        """Where the string table has the name, or None."""
        start, size = self.sections[".dynstr"]
        table = bytes(self.data[start : start + size])
        found = table.find(b"\0" + name.encode() + b"\0")
        return None if found < 0 else found + 1


def make_older(data):
    """Changes the bytes of a file; True where something was newer."""
    file = File(data)
    if ".gnu.version_r" not in file.sections:
        return False
    changed = False
    for offset, number, version in list(file.needed_versions()):
        if version not in OLDER:
            continue
        known, older = OLDER[version]
        unknown = set(file.functions(number)) - known
        if unknown:
            raise ValueError(f"{version} of {', '.join(sorted(unknown))}")
        name = next((one for one in older if file.offset_of(one)), None)
        if name is None:
            raise ValueError(f"{version}, and names none of {older}")
        struct.pack_into("<I", data, offset, hash_of(name))
        struct.pack_into("<I", data, offset + 8, file.offset_of(name))
        changed = True
    return changed


def main(paths):
    for path in map(pathlib.Path, paths):
        data = bytearray(path.read_bytes())
        try:
            if data[:6] == b"\x7fELF\x02\x01" and make_older(data):
                path.write_bytes(data)
        except ValueError as error:
            sys.exit(
                f"feedrate: {path} needs {error}; see dev/older_symbols.py"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
