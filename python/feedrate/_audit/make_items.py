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
import struct
import sys
import tarfile
import tempfile

import _feedrate_codes as codes

MANIFEST = "feedrate_audit.json"
TEXT_LENGTH = 240
# Items of one file of a layout with several.
PER_SHARD = 100


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
    "folder": write_folder,
    "hf_datasets": write_hf_datasets,
    "jsonl": write_jsonl,
    "litdata": write_litdata,
    "lmdb": write_lmdb,
    "mds": write_mds,
    "parquet": write_parquet,
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
        except ModuleNotFoundError as error:
            sys.exit(
                f"audit: --layout={layout} needs the Python package"
                f" {error.name} in {sys.executable}; install it there, or name"
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


if __name__ == "__main__":
    main(sys.argv[1:])
