#!/usr/bin/env python3
"""Writes a data set whose items say which they are; `audit --make` runs it.

    make_items.py FOLDER LAYOUT ITEMS VALIDATION_ITEMS CLASSES SIDE

The library that owns a layout writes it, so the Python that runs this must have
it. FOLDER/train and FOLDER/val have the items, FOLDER/feedrate_audit.json says
what is there and appears last. A label is the item's number modulo CLASSES. Of
several numbers ITEMS, such as 600,397, each is a source of a mixture in
FOLDER/train/0 and so on.
"""

import io
import json
import os
import pathlib
import shutil
import struct
import sys
import tarfile
import tempfile

import _feedrate_codes as codes

MANIFEST = "feedrate_audit.json"
TEXT_LENGTH = 240
# Items of one file of a layout with several.
PER_SHARD = 100
# Items of an episode, and frames of a clip.
PER_EPISODE = 10
FRAMES = 16
FRAMES_PER_SECOND = 8


class Items:
    def __init__(self, first, count, classes, side):
        self.numbers = range(first, first + count)
        self.classes = classes
        self.side = side

    def __iter__(self):
        """(number, label, PNG file) of each item."""
        for number in self.numbers:
            yield number, number % self.classes, codes.png_of(number, self.side)

    def shards(self):
        items = list(self)
        for at in range(0, len(items), PER_SHARD):
            yield at // PER_SHARD, items[at : at + PER_SHARD]

    def features(self):
        for number, label, image in self:
            yield {"id": number, "label": label, "image": image}

    def episodes(self):
        """Lists of items as features, with pixels as images."""
        import numpy as np

        for at in range(0, len(self.numbers), PER_EPISODE):
            yield [
                {
                    "id": number,
                    "label": number % self.classes,
                    "image": np.frombuffer(
                        b"".join(codes.rows_of(number, self.side)), np.uint8
                    ).reshape(self.side, self.side, 3),
                }
                for number in self.numbers[at : at + PER_EPISODE]
            ]


def write_folder(folder, items):
    for number, label, image in items:
        place = folder / f"class_{label:03d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:06d}.png").write_bytes(image)


def write_webdataset(folder, items):
    import webdataset

    folder.mkdir()
    for index, shard in items.shards():
        with webdataset.TarWriter(str(folder / f"{index:05d}.tar")) as writer:
            for number, label, image in shard:
                writer.write(
                    {"__key__": f"{number:06d}", "png": image, "cls": label}
                )


def write_parquet(folder, items):
    import pyarrow
    import pyarrow.parquet

    folder.mkdir()
    for index, shard in items.shards():
        numbers, labels, images = zip(*shard, strict=True)
        table = pyarrow.table({"id": numbers, "label": labels, "image": images})
        pyarrow.parquet.write_table(table, folder / f"{index:05d}.parquet")


def write_lmdb(folder, items):
    import lmdb

    folder.mkdir()
    with (
        lmdb.open(str(folder), map_size=1 << 32) as environment,
        environment.begin(write=True) as transaction,
    ):
        for number, label, image in items:
            transaction.put(
                f"{number:06d}".encode(), struct.pack("<I", label) + image
            )


def write_tfrecord(folder, items):
    import tensorflow

    def feature(value):
        if isinstance(value, bytes):
            kind = {"bytes_list": tensorflow.train.BytesList(value=[value])}
        else:
            kind = {"int64_list": tensorflow.train.Int64List(value=[value])}
        return tensorflow.train.Feature(**kind)

    folder.mkdir()
    for index, shard in items.shards():
        path = str(folder / f"{index:05d}.tfrecord")
        with tensorflow.io.TFRecordWriter(path) as writer:
            for number, label, image in shard:
                example = tensorflow.train.Example(
                    features=tensorflow.train.Features(
                        feature={
                            "image/encoded": feature(image),
                            "image/class/label": feature(label),
                            "id": feature(number),
                        }
                    )
                )
                writer.write(example.SerializeToString())


def write_hf_datasets(folder, items):
    import datasets

    columns = list(items.features())
    features = datasets.Features(
        {
            "id": datasets.Value("int64"),
            "label": datasets.Value("int64"),
            "image": datasets.Image(),
        }
    )
    data = datasets.Dataset.from_list(
        [
            {**row, "image": {"bytes": row["image"], "path": None}}
            for row in columns
        ],
        features=features,
    )
    data.save_to_disk(str(folder), num_shards=-(-len(columns) // PER_SHARD))


def write_mds(folder, items):
    import streaming

    columns = {"id": "int", "label": "int", "image": "bytes"}
    with streaming.MDSWriter(
        out=str(folder), columns=columns, size_limit=1 << 17
    ) as writer:
        for row in items.features():
            writer.write(row)


def litdata_row(row):
    """Of a module, because LitData pickles it."""
    return row


def write_litdata(folder, items):
    import litdata

    litdata.optimize(
        fn=litdata_row,
        inputs=list(items.features()),
        output_dir=str(folder),
        chunk_size=PER_SHARD,
        num_workers=1,
    )


def write_rlds(folder, items):
    """Episodes of TensorFlow Datasets; each step is an item."""
    import numpy as np
    import tensorflow_datasets as tfds

    tfds.disable_progress_bar()
    features = tfds.features
    step = {
        "observation": {
            "image": features.Image(
                shape=(items.side, items.side, 3), encoding_format="png"
            )
        },
        "action": features.Tensor(shape=(1,), dtype=np.float32),
        "is_last": features.Scalar(dtype=np.bool_),
        "id": features.Scalar(dtype=np.int64),
        "label": features.Scalar(dtype=np.int64),
    }

    def episodes():
        for number, rows in enumerate(items.episodes()):
            steps = [
                {
                    "observation": {"image": row["image"]},
                    "action": [row["id"]],
                    "is_last": row is rows[-1],
                    "id": row["id"],
                    "label": row["label"],
                }
                for row in rows
            ]
            yield number, {"steps": steps}

    # One process may register a name once.
    registered = f"audit_items_{items.numbers.start}"

    class Builder(tfds.core.GeneratorBasedBuilder):
        name = registered
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            return tfds.core.DatasetInfo(
                builder=self,
                features=features.FeaturesDict(
                    {"steps": features.Dataset(step)}
                ),
            )

        def _split_generators(self, dl_manager):
            return {"train": episodes()}

        def _generate_examples(self):
            raise NotImplementedError

    builder = Builder(data_dir=str(folder.with_name("tfds")))
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(try_download_gcs=False)
    )
    os.rename(builder.data_dir, folder)
    shutil.rmtree(folder.with_name("tfds"))


def write_lerobot(folder, items):
    """Episodes of LeRobot; each frame is an item."""
    from lerobot.datasets import lerobot_dataset

    image = {
        "dtype": "image",
        "shape": (items.side, items.side, 3),
        "names": ["height", "width", "channels"],
    }
    number = {"dtype": "int64", "shape": (1,), "names": None}
    data = lerobot_dataset.LeRobotDataset.create(
        "feedrate/audit",
        fps=FRAMES_PER_SECOND,
        features={
            "observation.image": image,
            "action": {"dtype": "float32", "shape": (1,), "names": None},
            "id": number,
            "label": number,
        },
        root=folder,
        use_videos=False,
    )
    import numpy as np

    for rows in items.episodes():
        for row in rows:
            frame = {
                "observation.image": row["image"],
                "action": np.array([row["id"]], np.float32),
                "id": np.array([row["id"]]),
                "label": np.array([row["label"]]),
                "task": "look",
            }
            data.add_frame(frame)
        data.save_episode()
    data.finalize()


def write_clips(folder, items):
    """A video per item, whose frames all show it, by FFmpeg's libraries."""
    import av

    # Color planes have half the width and height.
    if items.side < 128:
        sys.exit("audit: --layout=clips: --side must be at least 128")
    for rows in items.episodes():
        for row in rows:
            place = folder / f"class_{row['label']:03d}"
            place.mkdir(parents=True, exist_ok=True)
            path = str(place / f"{row['id']:06d}.mp4")
            with av.open(path, "w") as file:
                stream = file.add_stream("libx264", rate=FRAMES_PER_SECOND)
                stream.width = stream.height = items.side
                stream.pix_fmt = "yuv420p"
                stream.options = {"crf": "12", "preset": "veryfast"}
                frame = av.VideoFrame.from_ndarray(row["image"], "rgb24")
                for _ in range(FRAMES):
                    file.mux(stream.encode(frame))
                file.mux(stream.encode())


def text_rows(items):
    for number in items.numbers:
        tokens = codes.tokens_of(number, TEXT_LENGTH)
        yield {
            "id": number,
            "text": bytes(tokens).decode(),
            "input_ids": tokens,
        }


def write_jsonl(folder, items):
    folder.mkdir()
    with open(folder / "00000.jsonl", "w", encoding="utf-8") as file:
        for row in text_rows(items):
            file.write(json.dumps(row) + "\n")


def write_text_parquet(folder, items):
    import pyarrow
    import pyarrow.parquet

    folder.mkdir()
    table = pyarrow.Table.from_pylist(list(text_rows(items)))
    pyarrow.parquet.write_table(table, folder / "00000.parquet")


def write_tar(folder, items):
    """WebDataset's form by Python's own tarfile."""
    folder.mkdir()
    for index, shard in items.shards():
        with tarfile.open(folder / f"{index:05d}.tar", "w") as archive:
            for number, label, image in shard:
                for ending, data in (
                    ("png", image),
                    ("cls", str(label).encode()),
                ):
                    entry = tarfile.TarInfo(f"{number:06d}.{ending}")
                    entry.size = len(data)
                    archive.addfile(entry, io.BytesIO(data))


WRITERS = {
    "clips": write_clips,
    "folder": write_folder,
    "hf_datasets": write_hf_datasets,
    "jsonl": write_jsonl,
    "lerobot": write_lerobot,
    "litdata": write_litdata,
    "lmdb": write_lmdb,
    "mds": write_mds,
    "parquet": write_parquet,
    "rlds": write_rlds,
    "tar": write_tar,
    "text_parquet": write_text_parquet,
    "tfrecord": write_tfrecord,
    "webdataset": write_webdataset,
}


def main(arguments):
    target, layout, *numbers = arguments
    sources = [int(count) for count in numbers[0].split(",")]
    validation, classes, side = (int(number) for number in numbers[1:])
    train = sum(sources)
    if layout not in WRITERS:
        sys.exit(f"audit: --layout={layout}: use one of {', '.join(WRITERS)}")
    if train + validation > codes.MOST_ITEMS:
        sys.exit(f"audit: --items: at most {codes.MOST_ITEMS} items have codes")
    target = pathlib.Path(target).absolute()
    if target.exists() and any(target.iterdir()):
        sys.exit(f"audit: --make={target} is not empty; name a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=target.parent, prefix=".audit"
    ) as temporary:
        folder = pathlib.Path(temporary, "items")
        folder.mkdir()
        try:
            first = 0
            for source, count in enumerate(sources):
                place = folder / "train"
                if len(sources) > 1:
                    place.mkdir(exist_ok=True)
                    place /= str(source)
                WRITERS[layout](place, Items(first, count, classes, side))
                first += count
            if validation:
                WRITERS[layout](
                    folder / "val", Items(train, validation, classes, side)
                )
        except ImportError as error:
            package = error.name or f"that is missing: {error}"
            sys.exit(
                f"audit: --layout={layout} needs the Python package {package}"
                f" in {sys.executable}; install it there, or name"
                " another Python with --python"
            )
        manifest = {
            "schema": 1,
            "record": "audit_items",
            "layout": layout,
            "items": train,
            "validation_items": validation,
            "classes": classes,
            "side": side,
        }
        if len(sources) > 1:
            manifest["sources"] = sources
        (folder / MANIFEST).write_text(json.dumps(manifest) + "\n")
        if target.exists():
            target.rmdir()
        os.rename(folder, target)
    print(
        f"audit: wrote {target}: {train} items for training, {validation} for"
        f" validation. Next: audit --dataset={target} -- YOUR COMMAND",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
