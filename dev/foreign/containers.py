"""Containers that their own writers make here: pyarrow's Parquet in every
codec, page version, encoding and type; Hugging Face's data sets; LMDB;
WebDataset's shards. Our readers against the writers' own.

A case gives the same rows, or an error that names the column or file.
"""

import datetime
import decimal
import hashlib
import io
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import datasets
import lmdb
import numpy as np
import outcome
import pyarrow as pa
import pyarrow.parquet as pq
import webdataset
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import feedrate  # noqa: E402

DUMP = ROOT / "bazel-bin/lib/loader/source/dump_items"
LIMIT_S = 60
ROWS = 300
CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
PAGES = ["1.0", "2.0"]
VERSIONS = ["1.0", "2.4", "2.6"]
EVERY = ["PLAIN", "dictionary"]
DELTA = ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
TEXTS = ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
FIXED = ["BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
# Type to encodings of pyarrow.
TYPES = {
    "bool": ["PLAIN", "RLE"],
    **{name: EVERY + DELTA for name in [*INTEGERS, "uint64"]},
    "float16": ["PLAIN", "BYTE_STREAM_SPLIT"],
    "float32": [*EVERY, "BYTE_STREAM_SPLIT"],
    "float64": [*EVERY, "BYTE_STREAM_SPLIT"],
    "text": EVERY + TEXTS,
    "large_text": EVERY + TEXTS,
    "binary": EVERY + TEXTS,
    "fixed_binary": EVERY + FIXED,
    "date": EVERY,
    "time": EVERY,
    "decimal": EVERY,
    "small_decimal": EVERY,
    "list": EVERY + DELTA,
    "large_list": EVERY,
    "fixed_list": EVERY,
    "texts": EVERY,
    "list_of_lists": EVERY,
    "structure": EVERY,
    "categories": ["dictionary"],
    "missing": EVERY,
    "missing_in_list": EVERY,
    "all_missing": ["PLAIN"],
}
# What one of these writes besides.
SHAPES = {
    "no rows": {},
    "groups of 7 rows": {"row_group_size": 7},
    "pages of 5 rows": {"max_rows_per_page": 5},
    "checksums of pages": {"write_page_checksum": True},
    "index of pages": {"write_page_index": True},
    "old names of lists": {"use_compliant_nested_type": False},
    "a dictionary that grows too long": {"dictionary_pagesize_limit": 64},
}
MADE = ["webdataset", "webdataset compressed", "lmdb", "lmdb long values"]
MADE += ["lmdb named", "lmdb named, several values", "lmdb deleted"]
MADE += ["datasets", "datasets images of rows"]


def cases(folder):
    found = [
        f"parquet {' '.join(words)} {kind} {encoding}"
        for *words, kind in itertools.product(CODECS, PAGES, VERSIONS, TYPES)
        for encoding in TYPES[kind]
    ]
    found += [
        f"shape {kind} {page} {shape}"
        for kind in ("int64", "float32", "text", "list", "bool")
        for page in PAGES
        for shape in SHAPES
    ]
    return found + MADE


def column(kind, rows):
    """An array of pyarrow."""
    dice = random.Random(kind)
    if kind in INTEGERS or kind == "uint64":
        signed, bits = kind[0] != "u", int(kind.strip("uint"))
        least, most = -(1 << bits - 1), (1 << bits - 1) - 1
        if not signed:
            least, most = 0, (1 << bits) - 1
        values = [dice.randint(least, most) for _ in range(rows // 3 + 1)]
        values = [least, most, *(values * 3)][:rows]
        return pa.array(values, getattr(pa, kind)())
    floats = [dice.uniform(-9, 9) for _ in range(rows)]
    words = [f"é {i % 7}" * (i % 5) for i in range(rows)]
    lengths = [dice.randrange(4) for _ in range(rows)]
    days = [datetime.date(2000, 1, 1 + i % 28) for i in range(rows)]
    cents = [decimal.Decimal(i) / 100 for i in range(rows)]
    lists = [list(range(n)) for n in lengths]
    return {
        "bool": lambda: pa.array([i % 3 == 0 for i in range(rows)]),
        "float16": lambda: pa.array(np.array(floats, np.float16)),
        "float32": lambda: pa.array(floats, pa.float32()),
        "float64": lambda: pa.array(floats, pa.float64()),
        "text": lambda: pa.array(words, pa.string()),
        "large_text": lambda: pa.array(words, pa.large_string()),
        "binary": lambda: pa.array([w.encode() for w in words], pa.binary()),
        "fixed_binary": lambda: pa.array([b"abc"] * rows, pa.binary(3)),
        "date": lambda: pa.array(days, pa.date32()),
        "time": lambda: pa.array(
            [datetime.datetime(2000, 1, one.day) for one in days],
            pa.timestamp("us"),
        ),
        "decimal": lambda: pa.array(cents, pa.decimal128(20, 2)),
        "small_decimal": lambda: pa.array(cents, pa.decimal128(9, 2)),
        "list": lambda: pa.array(lists, pa.list_(pa.int64())),
        "large_list": lambda: pa.array(lists, pa.large_list(pa.int64())),
        "fixed_list": lambda: pa.array(
            [[x, -x] for x in floats], pa.list_(pa.float32(), 2)
        ),
        "texts": lambda: pa.array([words[:n] for n in lengths]),
        "list_of_lists": lambda: pa.array([[one] for one in lists]),
        "structure": lambda: pa.array([{"a": i, "b": x} for i, x in
                                       enumerate(floats)]),
        "categories": lambda: pa.array(words).dictionary_encode(),
        "missing": lambda: pa.array(
            [None if i % 4 == 3 else i for i in range(rows)], pa.int64()
        ),
        "missing_in_list": lambda: pa.array(
            [[1, None, 2]] * rows, pa.list_(pa.int64())
        ),
        "all_missing": lambda: pa.array([None] * rows, pa.float32()),
    }[kind]()  # fmt: skip


def write(path, kind, rows, encoding, **settings):
    # Doubles of other widths are made again when they are read.
    settings["use_dictionary"] = encoding == "dictionary"
    if encoding not in EVERY:
        leaf = "c.list.element" if kind == "list" else "c"
        settings["column_encoding"] = {leaf: encoding}
    if kind == "small_decimal":
        settings["store_decimal_as_integer"] = True
    table = pa.table({"c": column(kind, rows)})
    size = settings.pop("row_group_size", None)
    pq.write_table(table, path, row_group_size=size, **settings)


def plain(value):
    """As dump_items prints it."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, str):
        return value.encode().hex()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.datetime):
        at = value - datetime.datetime(1970, 1, 1)
        return at // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    if isinstance(value, bool):
        return int(value)
    return value


def dump(*arguments):
    """(lines of JSON, what it refuses)"""
    done = subprocess.run(
        [DUMP, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"exit {done.returncode}: {done.stderr}")
    if done.returncode == 1:
        return None, done.stderr.strip() or "no reason"
    return [json.loads(line) for line in done.stdout.splitlines()], ""


def compare_rows(path, name, expected):
    found, why = dump("columns", path, name)
    if found is None:
        if f"column {name} " in why or "has no column" in why:
            return outcome.refused(why)
        return outcome.unexplained(f"an error without the column: {why}")
    if found == expected:
        return outcome.equal()
    if len(found) != len(expected):
        return outcome.unexplained(f"{len(found)} rows of {len(expected)}")
    pairs = zip(found, expected, strict=True)
    at, a, b = next((i, *ab) for i, ab in enumerate(pairs) if ab[0] != ab[1])
    return outcome.unexplained(f"row {at}: {a} where {b} is right")


def compare_parquet(work, case):
    what, *words = case.split(" ", 6 if case.startswith("parquet") else 3)
    path = work / "x.parquet"
    if what == "shape":
        kind, page, shape = words
        rows = 0 if shape == "no rows" else ROWS
        encoding = "dictionary" if "dictionary" in shape else "PLAIN"
        write(
            path, kind, rows, encoding, data_page_version=page, **SHAPES[shape]
        )
    else:
        codec, page, version, kind, encoding = words
        ways = {"compression": codec, "data_page_version": page}
        write(path, kind, ROWS, encoding, version=version, **ways)
    expected = pq.read_table(path)["c"].to_pylist()
    if what == "parquet" and kind == "structure":
        # By its parts.
        found = compare_rows(path, "c/a", [plain(v["a"]) for v in expected])
        if found.word != "equal":
            return found
        return compare_rows(path, "c/b", [plain(v["b"]) for v in expected])
    return compare_rows(path, "c", plain(expected))


def pictures(count=12):
    """[bytes of a PNG file]"""
    found = []
    for i in range(count):
        pixels = np.random.default_rng(i).integers(
            0, 256, (8 + i, 9 + i, 3), np.uint8
        )
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "PNG")
        found.append(out.getvalue())
    return found


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def compare_items(kind, path, expected):
    """`expected`: [(class, bytes)]"""
    found, why = dump(kind, path)
    if found is None:
        if str(path) in why:
            return outcome.refused(why.replace(str(path), "FILE"))
        return outcome.unexplained(f"an error without the file: {why}")
    ours = [(one["label"], one["sha256"]) for one in found]
    right = [(label, sha256(data)) for label, data in expected]
    if ours != right:
        return outcome.unexplained(f"{len(ours)} items differ: {found[:2]}")
    return outcome.equal()


def compare_lmdb(work, case):
    named = "named" in case or "several" in case
    options = {"max_dbs": 2} if named else {}
    size = 3000 if "long" in case else 20
    with lmdb.open(str(work / "db"), map_size=1 << 26, **options) as store:
        database = None
        if named:
            several = "several" in case
            database = store.open_db(b"images", dupsort=several)
        with store.begin(write=True, db=database) as change:
            for i in range(500):
                value = random.Random(i).randbytes(size + i % 7)
                change.put(b"%d" % (i * 7919 % 500), value)
                if "several" in case:
                    change.put(b"%d" % i, b"another")
        if "deleted" in case:
            with store.begin(write=True) as change:
                for i in range(0, 500, 3):
                    change.delete(b"%d" % i)
        with store.begin(db=database) as look:
            expected = [(-1, bytes(value)) for _, value in look.cursor()]
    return compare_items("lmdb", work / "db/data.mdb", expected)


def compare_datasets(work, case):
    data = pictures()
    rows = {
        "image": [{"bytes": one, "path": None} for one in data],
        "label": [i % 3 for i in range(len(data))],
    }
    features = datasets.Features(
        image=datasets.Image(), label=datasets.ClassLabel(num_classes=3)
    )
    made = datasets.Dataset.from_dict(rows, features=features)
    path = work / "x.parquet"
    made.to_parquet(path, **({"batch_size": 5} if "rows" in case else {}))
    read = datasets.Dataset.from_parquet(str(path), cache_dir=str(work))
    read = read.cast_column("image", datasets.Image(decode=False))
    expected = [(one["label"], one["image"]["bytes"]) for one in read]
    return compare_items("parquet", path, expected)


def compare_webdataset(work, case):
    names = [f"{i:03d}" for i in range(12)]
    ending = ".tar.gz" if "compressed" in case else ".tar"
    path = work / f"x{ending}"
    with webdataset.TarWriter(str(path)) as sink:
        for i, (name, data) in enumerate(zip(names, pictures(), strict=True)):
            sink.write({"__key__": name, "png": data, "cls": i % 5})
    shards = webdataset.WebDataset(str(path), shardshuffle=False)
    pairs = list(shards.decode("rgb8").to_tuple("png", "cls"))
    try:
        with feedrate.Loader(
            [path],
            batch_size=1,
            crop=(8, 9),
            crop_position="center",
            dtype="uint8",
            channels_last=True,
            output="numpy",
            workers=0,
        ) as loader:
            found = [(x[0].copy(), int(y[0])) for x, y in loader]
    except (RuntimeError, ValueError) as error:
        return outcome.refused(str(error).replace(str(work), "FOLDER"))
    if len(found) != len(pairs):
        return outcome.unexplained(f"{len(found)} samples of {len(pairs)}")
    for i, ((image, label), (right, class_)) in enumerate(
        zip(found, pairs, strict=True)
    ):
        y, x = (right.shape[0] - 8) // 2, (right.shape[1] - 9) // 2
        if label != class_ or (image != right[y : y + 8, x : x + 9]).any():
            return outcome.unexplained(f"sample {i} differs")
    return outcome.equal()


def compare(folder, case):
    readers = {
        "parquet": compare_parquet,
        "shape": compare_parquet,
        "lmdb": compare_lmdb,
        "datasets": compare_datasets,
        "webdataset": compare_webdataset,
    }
    with tempfile.TemporaryDirectory() as work:
        return readers[case.split()[0]](pathlib.Path(work), case)
