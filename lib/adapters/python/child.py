"""One job's process: answers the runner's commands until they end.

One JSON line in, one JSON line out; docs/adapters_python.md has the commands.
An exception is an answer too, and the child goes on. What kills the process is
seen by the runner.
"""

import gc
import json
import os
import random
import traceback

import numpy as np
import numpy.random  # Else imported by the first job that seeds it.
import params
import timing
from corpus import Corpus


class Child:
    def __init__(self, library, corpus_fd):
        self._library = library
        self._corpus_fd = corpus_fd
        self._corpus = None
        self._operation = None
        self._inputs = None
        self._output_fd = None

    def answer(self, line):
        """The reply to one command, as a dictionary."""
        try:
            command = json.loads(line)
            act = {
                "prepare": self._prepare,
                "time": self._time,
                "output": self._output,
            }.get(command.get("op"))
            if act is None:
                raise ValueError(f"no command {command.get('op')!r}")
            return act(command)
        except Exception as error:
            return error_reply(error)

    def _prepare(self, command):
        if command.get("device", "cpu") != "cpu":
            raise ValueError(f"no device {command['device']!r} in this worker")
        self._library.use_threads(command)
        if self._corpus is None:
            self._corpus = Corpus(self._corpus_fd)
            self._inputs = [None] * len(self._corpus)
        self._operation = self._library.make(command)
        self._seed(command.get("seed", 0))
        # What stays until the end need not be looked at again.
        gc.collect()
        gc.freeze()
        return {
            "version": self._library.version(),
            "clock_pair_s": timing.clock_pair_s(),
            "threads": self._library.threads(),
        }

    def _time(self, command):
        self._check_prepared()
        count, first = command["count"], command["first"]
        chunk = command.get("chunk", 1)
        if count < 1 or first < 0 or chunk < 1:
            raise ValueError(f"count {count}, first {first}, chunk {chunk}")
        inputs = [self._input(first + i) for i in range(count)]
        self._seed(command.get("seed", 0))
        samples, items = timing.time_calls(
            self._operation.call,
            inputs,
            chunk,
            command.get("limit_s", 0),
            self._operation.fresh,
        )
        return {"samples_s": samples, "items": items}

    def _output(self, command):
        self._check_prepared()
        inputs = [self._input(i) for i in command["indexes"]]
        self._seed(command.get("seed", 0))
        if self._output_fd is not None:
            os.close(self._output_fd)
        self._output_fd = os.memfd_create("output", os.MFD_CLOEXEC)
        outputs, offset = [], 0
        for item in inputs:
            output = self._operation.call(self._fresh(item))
            array, layout = self._library.array_of(output)
            described, array = describe(array, layout)
            write_all(self._output_fd, memoryview(array).cast("B"))
            outputs.append(
                {"offset": offset, "bytes": array.nbytes} | described
            )
            offset += array.nbytes
        return {"fd": self._output_fd, "outputs": outputs}

    def _fresh(self, item):
        fresh = self._operation.fresh
        return fresh(item) if fresh else item

    def _check_prepared(self):
        if self._operation is None:
            raise RuntimeError("no transform is prepared")

    def _input(self, index):
        """The library's own input, made when first asked for."""
        index %= len(self._inputs)
        if self._inputs[index] is None:
            self._inputs[index] = self._library.input_of(
                self._corpus.item(index), self._corpus.layout
            )
        return self._inputs[index]

    def _seed(self, seed):
        params.generator.seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        self._operation.seed(seed)


def describe(array, layout):
    """Type, layout and shape of an output, and its bytes in one piece."""
    if array.dtype not in (np.uint8, np.float32):
        raise TypeError(f"the output is {array.dtype}, not uint8 or float32")
    if array.ndim == 2:
        array, layout = array[:, :, None], "HWC"
    described = {
        "dtype": str(array.dtype),
        "layout": layout,
        "shape": list(array.shape),
    }
    return described, np.ascontiguousarray(array)


def error_reply(error):
    return {
        "error": f"{type(error).__name__}: {error}",
        "traceback": "".join(traceback.format_exception(error)),
    }


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def run(library, commands_fd, replies_fd, corpus_fd):
    """Answers commands until they end."""
    child = Child(library, corpus_fd)
    with os.fdopen(commands_fd, "rb") as commands:
        for line in commands:
            reply = json.dumps(child.answer(line))
            write_all(replies_fd, reply.encode() + b"\n")
