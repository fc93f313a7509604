#!/usr/bin/env python3
"""Writes the Parquet files that lib/storage/parquet/parquet_test.cc reads.

    ENV="$(dev/python_env.sh configs/requirements/current/tensorflow.lock)"
    "$ENV/bin/python" lib/storage/parquet/write_parquet.py \
        lib/storage/parquet/parquet_fuzz_corpus

Needs pyarrow. Row i has the values that the test expects.
"""

import decimal
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 20


def table():
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    rows = range(ROWS)
    return pa.table(
        {
            "number": pa.array([i // 3 for i in rows], pa.int64()),
            "float": pa.array([i / 8 for i in rows], pa.float32()),
            "double": pa.array([i / 3 for i in rows], pa.float64()),
            "yes": pa.array([i % 3 == 0 for i in rows], pa.bool_()),
            "text": [f"text {i % 4}" for i in rows],
            "list": pa.array(
                [[i + j / 4 for j in range(3)] for i in rows],
                pa.list_(pa.float32(), 3),
            ),
            "texts": pa.array([["a"] * (i % 3) for i in rows]),
            "image": pa.array(
                [{"bytes": bytes([i, 0]), "path": None} for i in rows], image
            ),
        }
    )


def odd_numbers():
    return pa.table(
        {
            "byte": pa.array([0, 255], pa.uint8()),
            "word": pa.array([1, 2**32 - 1], pa.uint32()),
            "long": pa.array([2, 2**63 - 1], pa.uint64()),
            "too_long": pa.array([3, 2**63], pa.uint64()),
            "cents": pa.array(
                [decimal.Decimal("0.01"), decimal.Decimal("1.50")],
                pa.decimal128(9, 2),
            ),
        }
    )


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    ways = {
        "snappy": {},
        "plain": {"use_dictionary": False, "compression": "none"},
        "groups": {"row_group_size": 7},
        "pages": {"data_page_version": "2.0", "max_rows_per_page": 6},
        "gzip": {"compression": "gzip"},
        "zstd": {"compression": "zstd"},
        "brotli": {"compression": "brotli"},
        "delta": {
            "use_dictionary": False,
            "column_encoding": {"number": "DELTA_BINARY_PACKED"},
        },
    }
    for name, how in ways.items():
        pq.write_table(
            table(),
            folder / f"{name}.parquet",
            write_statistics=False,
            store_schema=False,
            **how,
        )
    pq.write_table(
        odd_numbers(),
        folder / "odd_numbers.parquet",
        write_statistics=False,
        store_schema=False,
        store_decimal_as_integer=True,
    )


if __name__ == "__main__":
    main()
