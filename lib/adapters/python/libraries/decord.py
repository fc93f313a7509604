"""Decord, through its successor decord2: decodes frames by number."""

import importlib.metadata

import decord
from operation import Operation

_threads = 1


def version():
    return importlib.metadata.version("decord2")


def use_threads(policy):
    global _threads
    _threads = policy.get("decode", {}).get("threads", 1)


def threads():
    return _threads or 1


def make_decoder(command):
    threads = command["decode"]["threads"]

    def call(item):
        path, numbers = item
        return (
            decord.VideoReader(path, num_threads=threads)
            .get_batch(numbers)
            .asnumpy()
        )

    return Operation(call)


def array_of(output):
    return output, "THWC"
