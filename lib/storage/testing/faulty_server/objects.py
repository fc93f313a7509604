"""The objects on the server, and their checksums."""

import base64
import binascii
import functools
import hashlib
import pathlib

import google_crc32c


def made_up(name, size):
    """The bytes of a generated object; tests can generate them too."""
    return hashlib.shake_128(name.encode()).digest(size)


def crc32c_base64(data):
    return base64.b64encode(
        google_crc32c.value(data).to_bytes(4, "big")
    ).decode()


class Object:
    """An object's bytes and metadata."""

    def __init__(self, data):
        self.data = data
        self.md5 = hashlib.md5(data).hexdigest()
        self.crc32c_base64 = crc32c_base64(data)
        self.md5_base64 = base64.b64encode(
            binascii.unhexlify(self.md5)
        ).decode()
        self.generation = int(self.md5[:12], 16)


class Objects:
    """What is in a bucket: generated, or the files of a folder."""

    def __init__(self, count, size, folder):
        self.folder = pathlib.Path(folder) if folder else None
        self.size = size
        self.count = count
        self.get = functools.lru_cache(maxsize=4096)(self._load)

    def names(self):
        if self.folder is None:
            return [f"set/{i:06d}.bin" for i in range(self.count)]
        files = [p for p in self.folder.rglob("*") if p.is_file()]
        return sorted(str(p.relative_to(self.folder)) for p in files)

    def _load(self, key):
        """The object, or None."""
        if self.folder is None:
            if key not in self.known():
                return None
            return Object(made_up(key, self.size))
        path = self.folder / key
        if ".." in key.split("/") or not path.is_file():
            return None
        return Object(path.read_bytes())

    @functools.cache  # noqa: B019, there is one for the life of the program.
    def known(self):
        return frozenset(self.names())
