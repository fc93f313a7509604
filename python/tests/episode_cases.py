"""Robot episodes that tell which they are, for tests of feedrate.Episodes."""

import struct

import cases  # Puts feedrate on the path.
import feedrate
import numpy as np

REAL = cases.ROOT / "lib/loader/mixture/testdata"
# Written by lerobot in formats v3.0 and v2.1, and by tensorflow-datasets; see
# lib/adapters/python/testing/lerobot_episodes.py and tfds_episodes.py.
NEW, OLD, RLDS = REAL / "lerobot/new", REAL / "lerobot/old", REAL / "rlds/arm"
LENGTHS = [8, 10, 12]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    masked = (crc >> 15 | crc << 17) + 0xA282EAD8
    return struct.pack("<I", masked & 0xFFFFFFFF)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def feature(values):
    if isinstance(values[0], bytes):
        return field(1, b"".join(field(1, value) for value in values))
    if isinstance(values[0], int):
        return field(3, field(1, b"".join(varint(value) for value in values)))
    return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))


def example(features):
    entries = b"".join(
        field(1, field(1, name.encode()) + field(2, feature(values)))
        for name, values in features.items()
    )
    return field(1, entries)


def record(data):
    size = struct.pack("<Q", len(data))
    return size + crc32c(size) + data + crc32c(data)


def png(number, height=16, width=20):
    """One color: red is the number, up to 255."""
    import io

    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (width, height), (number % 256, 50, 90)).save(out, "png")
    return out.getvalue()


def write_set(
    folder,
    lengths,
    first=0,
    action=3,
    state=2,
    frame=png,
    more=None,
    **without,
):
    """feedrate's own format: a shard of episodes whose steps, counted from
    `first` over all of them, are their numbers. `more`: other features, and
    what they have for a number."""
    shard, number = b"", first
    for i, steps in enumerate(lengths):
        numbers = [float(number + k) for k in range(steps)]
        features = {
            "frames": [frame(number + k) for k in range(steps)],
            "action": [n + j / 4 for n in numbers for j in range(action)],
            "state": [-n - j / 4 for n in numbers for j in range(state)],
            "instruction": [f"do {folder.name} {i}".encode()],
            "episode_id": [str(i).encode()],
        }
        for name, values_of in (more or {}).items():
            features[name] = [v for n in numbers for v in values_of(n)]
        for name in without.get("without", ()):
            del features[name]
        shard += record(example(features))
        number += steps
    folder.mkdir(parents=True, exist_ok=True)
    # Others may have it mapped: what is cut off would kill them.
    new = folder / "new"
    new.write_bytes(shard)
    new.rename(folder / "0.tfrecord")
    return folder


class Case(cases.Case):
    def episodes(self, sources, **arguments):
        """Bytes as numpy arrays, in small batches, unless told otherwise."""
        given = {
            "batch_size": 4,
            "crop": 16,
            "output": "numpy",
            "workers": 2,
            **arguments,
        }
        if "resize" in arguments and "crop" not in arguments:
            del given["crop"]
        data = feedrate.Episodes(sources, **given)
        self.addCleanup(data.close)
        return data

    def indexes(self, data):
        return [int(i) for batch in data for i in batch["index"]]

    def check_lerobot(self, batch, offsets=(0,), of=0):
        """That a batch of real data has the frames and numbers of its steps."""
        first = [0, LENGTHS[0], LENGTHS[0] + LENGTHS[1]]
        for i in range(len(batch["step"])):
            episode, step = int(batch["episode"][i]), int(batch["step"][i])
            assert batch["index"][i] == of + first[episode] + step
            assert batch["instruction"][i] == f"do thing {episode % 2}"
            np.testing.assert_array_equal(batch["state"][i], [-step, -step - 1])
            steps = [
                min(max(step + o, 0), LENGTHS[episode] - 1) for o in offsets
            ]
            rows = [
                [100 * episode + s + j / 4 for j in range(3)] for s in steps
            ]
            found = batch["action"][i].reshape(-1, 3)
            np.testing.assert_array_equal(found, rows)
            frames = batch["image"][i].reshape(-1, *batch["image"].shape[-3:])
            for s, frame in zip(steps, frames, strict=True):
                red = (40 * s + 90 * episode) % 256
                assert abs(frame[0].mean() - red) < 5, (episode, s)
            if len(offsets) > 1:
                pads = [not 0 <= step + o < LENGTHS[episode] for o in offsets]
                np.testing.assert_array_equal(batch["action_is_pad"][i], pads)
                np.testing.assert_array_equal(batch["image_is_pad"][i], pads)
