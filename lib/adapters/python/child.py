"""The process of one job: answers the runner's commands until they end.

One JSON line in, one JSON line out; docs/adapters_python.md lists the commands.
An exception becomes an answer too, and the child goes on. The runner notices
when the process is killed.
"""

import gc
import json
import os
import random
import traceback

import calls
import clips
import numpy as np
import numpy.random  # Else imported by the first job that seeds it.
import outputs
import params
import timing
from corpus import Corpus
from loaders.job import LoaderJob
from loaders.mixture import MixtureJob


class Child:
    def __init__(self, library, corpus_fd):
        self._library = library
        self._corpus_fd = corpus_fd
        self._corpus = None
        self._operation = None
        self._inputs = None
        self._device = None
        self._batch = 0
        self._output_fd = None
        self._loader = None
        self._mixture = None
        self._calls = None

    def answer(self, line):
        """The reply to one command, as a dictionary."""
        try:
            command = json.loads(line)
            act = {
                "prepare": self._prepare,
                "time": self._time,
                "epoch": self._epoch,
                "stop": self._stop,
                "output": self._output,
                "attach": self._attach,
                "seed": self._seed_all,
                "call": self._call,
            }.get(command.get("op"))
            if act is None:
                raise ValueError(f"no command {command.get('op')!r}")
            return act(command)
        except Exception as error:
            return error_reply(error, self._device, self._library)

    def _prepare(self, command):
        self._operation = self._loader = None
        self._mixture = self._device = None
        self._library.use_threads(command)
        if "loader" in command:
            self._loader = LoaderJob(self._library, command, self._corpus_fd)
        elif "mixture" in command:
            self._mixture = MixtureJob(self._library, command, self._corpus_fd)
        elif "decode" in command:
            self._prepare_decoder(command)
        else:
            self._prepare_operation(command)
        # What stays until the end need not be looked at again.
        gc.collect()
        gc.freeze()
        reply = {
            "version": self._library.version(),
            "clock_pair_s": timing.clock_pair_s(),
            "threads": self._library.threads(),
        }
        # What is decoded is not copied from the device's own memory.
        if self._device is not None and "decode" not in command:
            reply["device_copy_bytes_per_s"] = self._device.copy_bytes_per_s()
            if self._batch > 0 and self._operation.native is None:
                reply["per_sample_loop"] = True
        return reply

    def _prepare_operation(self, command):
        self._device = self._find_device(command.get("device", "cpu"))
        self._batch = command.get("batch", 0)
        if self._corpus is None:
            self._corpus = Corpus(self._corpus_fd)
        self._inputs = [None] * len(self._corpus)
        self._operation = self._library.make(command)
        self._seed(command.get("seed", 0))
        settle = getattr(self._operation, "settle", None)
        if settle:
            settle(self._input(0))
        if self._device is not None:
            for i in range(len(self._inputs)):
                self._input(i)

    def _find_device(self, name):
        """The object that times a device, or None for the CPU."""
        if name == "cpu":
            return None
        device_of = getattr(self._library, "device_of", None)
        if device_of is None:
            raise ValueError(f"no device {name!r} in this worker")
        return device_of(name)

    def _prepare_decoder(self, command):
        """An item is a video's path and the numbers of its clip's frames."""
        self._device = self._find_device(command.get("device", "cpu"))
        self._batch = 0
        self._inputs = clips.read_list(self._corpus_fd)
        self._operation = self._library.make_decoder(command)

    def _epoch(self, command):
        measured = self._loader or self._mixture
        if measured is None:
            raise RuntimeError("no loader is prepared")
        return measured.epoch(command)

    def _stop(self, command):
        if self._mixture is None:
            raise RuntimeError("no mixture is prepared")
        return self._mixture.stop()

    def _time(self, command):
        self._check_prepared()
        count, first = command["count"], command["first"]
        chunk = command.get("chunk", 1)
        if count < 1 or first < 0 or chunk < 1:
            raise ValueError(f"count {count}, first {first}, chunk {chunk}")
        if self._device is not None:
            return self._time_on_device(command)
        inputs = [self._input(first + i) for i in range(count)]
        self._seed(command.get("seed", 0))
        probes = []
        waited_before_s = timing.waited_s()
        samples, items = timing.time_calls(
            self._operation.call,
            inputs,
            chunk,
            command.get("limit_s", 0),
            self._operation.fresh,
            probes,
        )
        waited_s = timing.waited_s()
        reply = {
            "samples_s": samples,
            "items": items,
            "probes_s": [wide / 1e9 for _, wide, _ in probes],
            "chains_s": [chain / 1e9 for _, _, chain in probes],
            "probes_at": [at for at, _, _ in probes],
        }
        if waited_s is not None and waited_before_s is not None:
            reply["waited_s"] = waited_s - waited_before_s
        return reply

    def _time_on_device(self, command):
        self._seed(command.get("seed", 0))
        # A batch is one call, so that a sample of so many items has one.
        batched = self._batch > 0 and self._operation.native is not None
        return timing.time_on_device(
            self._device,
            self._calls(command, self._batch if batched else 0),
            1 if batched else command.get("chunk", 1),
            command.get("limit_s", 0),
            command.get("cold", False),
        )

    def _calls(self, command, batch):
        """(call, input, items) of each call, made lazily."""
        first, count = command["first"], command["count"]
        for at in range(first, first + count, batch or 1):
            if not batch:
                yield self._operation.call, self._fresh(self._input(at)), 1
                continue
            items = min(batch, first + count - at)
            inputs = [self._input(at + i) for i in range(items)]
            yield self._operation.native, self._device.stack(inputs), items

    def _output(self, command):
        if self._output_fd is not None:
            os.close(self._output_fd)
        self._output_fd = os.memfd_create("output", os.MFD_CLOEXEC)
        if self._loader is not None:
            described = self._loader.outputs(command, self._output_fd)
        else:
            described = self._outputs(command)
        return {"fd": self._output_fd, "outputs": described}

    def _outputs(self, command):
        self._check_prepared()
        inputs = [self._input(i) for i in command["indexes"]]
        self._seed(command.get("seed", 0))
        written = outputs.Writer(self._output_fd)
        for item in inputs:
            output = self._operation.call(self._fresh(item))
            written.add(*self._library.array_of(output))
        return written.described

    def _attach(self, command):
        self._check_prepared()
        self._calls = calls.Calls(command)
        return self._calls.described

    def _seed_all(self, command):
        gc.collect(0)
        self._seed(command["seed"])
        return {"seeded": True}

    def _call(self, command):
        """One call of which nothing is timed here."""
        item = self._library.input_of(self._calls.input(command), "HWC")
        if place := getattr(self._operation, "place", None):
            item = place(item)
        if self._device is not None:
            item = self._device.place(item)
        output = self._operation.call(self._fresh(item))
        described = self._calls.write(*self._library.array_of(output))
        return {"nonce": command["nonce"], "output": described}

    def _fresh(self, item):
        fresh = self._operation.fresh
        return fresh(item) if fresh else item

    def _check_prepared(self):
        if self._operation is None:
            raise RuntimeError("no transform is prepared")

    def _input(self, index):
        """The library's own input, made on first use."""
        index %= len(self._inputs)
        if self._inputs[index] is None:
            item = self._library.input_of(
                self._corpus.item(index), self._corpus.layout
            )
            if place := getattr(self._operation, "place", None):
                item = place(item)
            if self._device is not None:
                item = self._device.place(item)
            self._inputs[index] = item
        return self._inputs[index]

    def _seed(self, seed):
        params.generator.seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        self._operation.seed(seed)


def error_reply(error, device=None, library=None):
    explain = getattr(library, "explain", None)
    words = explain(error) if explain else f"{type(error).__name__}: {error}"
    # Torch's allocator says what was free; CUDA itself does not.
    if device and "out of memory" in words and " is free" not in words:
        first, *rest = words.split("\n")
        words = "\n".join([f"{first}; {device.free_memory()}", *rest])
    return {
        "error": words,
        "traceback": "".join(traceback.format_exception(error)),
    }


def run(library, commands_fd, replies_fd, corpus_fd):
    """Answers commands until they end."""
    child = Child(library, corpus_fd)
    with os.fdopen(commands_fd, "rb") as commands:
        for line in commands:
            reply = json.dumps(child.answer(line))
            outputs.write_all(replies_fd, reply.encode() + b"\n")
