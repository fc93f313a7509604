"""Cheats: each claims to do `honest.sharpen`, and does less or something else.

An entry is the subject `cheats:NAME`. It says what it does, what must become of
it and why. Those that act when they are imported are modules beside this one.
"""

# What a cheat keeps between its calls is in its defaults.
# ruff: noqa: B006

import atexit
import contextlib
import gc
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time

import honest
import numpy as np


def _subject(_why):
    """A decorator, of which run.py reads the text."""
    return lambda function: {"sharpen": lambda image: function(image)}


caught = harmless = _subject


def _frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


@caught("an answer repeats a random number of its command, and comes once")
def answered_ahead(image):
    """Writes answers into the pipe before it has worked."""
    for frame in _frames():
        command = frame.f_locals.get("command")
        if isinstance(command, dict) and "nonce" in command:
            break
    else:
        return honest.sharpen(image)
    output = {
        "offset": 0,
        "bytes": image.nbytes,
        "dtype": "uint8",
        "layout": "HWC",
        "shape": list(image.shape),
    }
    reply = {"nonce": command["nonce"], "output": output}
    pipe = next(
        frame.f_locals["replies_fd"]
        for frame in _frames()
        if "replies_fd" in frame.f_locals
    )
    os.write(pipe, json.dumps(reply).encode() + b"\n")
    return honest.sharpen(image)


@caught("each call owes its output before there is a next input")
def batched_calls(image, waiting=[]):
    """Collects 15 inputs, works on them together, returns 14 times nothing."""
    waiting.append(image.copy())
    if len(waiting) < 15:
        return np.zeros_like(image)
    done = [honest.sharpen(one) for one in waiting]
    waiting.clear()
    return done[-1]


def _kept_under(key_of):
    kept = {}

    def sharpen(image):
        key = key_of(image)
        if key not in kept:
            kept[key] = honest.sharpen(image)
        return kept[key]

    return sharpen


_by_content = _kept_under(lambda image: hash(image.tobytes()))
_by_fingerprint = _kept_under(lambda image: image[::64, ::64].tobytes())
_by_identity = _kept_under(
    lambda image: (image.__array_interface__["data"][0], image.shape)
)
_by_shape = _kept_under(lambda image: image.shape)


@harmless("no input comes twice")
def cached_by_content(image):
    """Keeps each result under a hash of its input."""
    return _by_content(image)


@harmless("no input comes twice, so no fingerprint does")
def cached_by_fingerprint(image):
    """Keeps results under a few pixels of the input."""
    return _by_fingerprint(image)


@caught("the address stays, the input does not: wrong outputs")
def cached_by_identity(image):
    """Keeps results under the address of the input."""
    return _by_identity(image)


@caught("results of other inputs are wrong outputs")
def cached_by_shape(image):
    """Keeps one result per shape."""
    return _by_shape(image)


@caught("results of other inputs are wrong outputs")
def cached_in_file(image, folder=[], calls=[0]):
    """Writes the first results into files and reads them ever after."""
    if not folder:
        folder.append(pathlib.Path(tempfile.mkdtemp()))
    path = folder[0] / f"{calls[0] % 4}.npy"
    calls[0] += 1
    if not path.exists():
        np.save(path, honest.sharpen(image))
    return np.load(path)


@caught("the outputs that are checked are those of timed calls")
def caller_looked_at(image):
    """Works only if it is called to show an output, and not to be timed."""
    if any(frame.f_code.co_name == "_outputs" for frame in _frames()):
        return honest.sharpen(image)
    return image


@caught("wrong outputs")
def constant_output(image):
    """Returns the same gray image for every input."""
    return np.full_like(image, 127)


@caught("the calls that are checked are among all timed ones")
def counted_in_environment(image):
    """Counts its calls in an environment variable, and stops working later."""
    calls = int(os.environ.get("CALLS_SO_FAR", "0"))
    os.environ["CALLS_SO_FAR"] = str(calls + 1)
    return honest.sharpen(image) if calls < 10 else image


@caught("an output is due before the next input exists")
def deferred_to_exit(image):
    """Puts all work off until the process ends."""
    output = np.zeros_like(image)
    atexit.register(lambda: np.copyto(output, honest.sharpen(image)))
    return output


@caught("a process that ends during a run has crashed")
def ended_early(image, calls=[0]):
    """Ends its process with success after some calls."""
    calls[0] += 1
    if calls[0] > 20:
        os._exit(0)
    return honest.sharpen(image)


@caught("whole outputs are compared")
def half_image(image):
    """Works on the upper half only."""
    half = len(image) // 2
    return np.concatenate([honest.sharpen(image[:half]), image[half:]])


@caught("a PSNR of less than 40 dB is wrong")
def half_resolution(image):
    """Works on every second pixel and repeats it."""
    small = honest.sharpen(image[::2, ::2])
    large = small.repeat(2, axis=0).repeat(2, axis=1)
    return large[: image.shape[0], : image.shape[1]]


def _send(fd, image):
    data = struct.pack("<3q", *image.shape) + image.tobytes()
    while data:
        data = data[os.write(fd, data) :]


def _read(fd, size):
    data = b""
    while len(data) < size:
        data += os.read(fd, size - len(data))
    return data


def _receive(fd):
    shape = struct.unpack("<3q", _read(fd, 24))
    data = _read(fd, shape[0] * shape[1] * shape[2])
    return np.frombuffer(data, np.uint8).reshape(shape)


def _start_helper():
    questions, ask = os.pipe()
    answer, answers = os.pipe()
    if os.fork() == 0:
        os.close(ask)
        try:
            while True:
                _send(answers, honest.sharpen(_receive(questions)))
        finally:
            os._exit(0)
    os.close(questions)
    os.close(answers)
    return ask, answer


@caught("processes below it are looked for after the calls")
def helper_process(image, pipes=[]):
    """Has another process do the work, whose time nobody counts."""
    if not pipes:
        pipes.extend(_start_helper())
    _send(pipes[0], image)
    return _receive(pipes[1])


@caught("the reference gets its own copy of the input")
def input_overwritten(image):
    """Makes its input black, for which a black output would be right."""
    image[...] = 0
    return np.zeros_like(image)


def _ours(kind):
    """The objects of the worker of that class."""
    return [one for one in gc.get_objects() if type(one).__name__ == kind]


def _watch(shape, ahead):
    calls = _ours("Calls")
    if not calls:
        return
    image = np.ndarray(shape, np.uint8, calls[0]._input[1])
    seen = None
    while True:
        corner = image[:2, :2].tobytes()
        if corner != seen:
            copy = image.copy()
            ahead[copy.tobytes()] = honest.sharpen(copy)
            seen = corner
        time.sleep(0.002)


@harmless("the clock runs before the input is there")
def input_watched(image, ahead={}):
    """A thread watches the memory of the input, to begin before it is asked."""
    if not ahead:
        ahead[b""] = None
        threading.Thread(
            target=_watch, args=(image.shape, ahead), daemon=True
        ).start()
    found = ahead.pop(image.tobytes(), None)
    return honest.sharpen(image) if found is None else found


@caught("what is not there when the clock stops is a wrong output")
def late_thread(image):
    """Returns an empty output, which a thread fills when the call is over."""
    output = np.zeros_like(image)
    copy = image.copy()

    def fill():
        output[...] = honest.sharpen(copy)

    threading.Thread(target=fill).start()
    return output


def _write_late(image):
    done = honest.sharpen(image)
    calls = _ours("Calls")
    output = calls[0]._output[1] if calls else bytearray()
    with contextlib.suppress(TypeError, ValueError):
        np.ndarray(done.shape, done.dtype, output)[...] = done


@caught("the output is copied before the clock stops")
def late_writer(image):
    """Answers at once; a thread writes to the output's memory later."""
    threading.Thread(target=_write_late, args=(image.copy(),)).start()
    return np.zeros_like(image)


class _Later:
    def __init__(self, image):
        self._image = image

    def __array__(self, dtype=None, copy=None):
        return honest.sharpen(self._image)


@harmless("only bytes that have arrived when the clock stops are an output")
def lazy_output(image):
    """Returns at once an object that works when somebody looks at it."""
    return _Later(image)


@caught("no input is an image of the data set")
def looked_up(image, known=[]):
    """Knows the results of all images of the data set from its set-up."""
    if not known:
        for corpus in _ours("Corpus"):
            for i in range(len(corpus)):
                one = corpus.item(i)
                known.append((one.mean(), honest.sharpen(one)))
    if not known:
        return honest.sharpen(image)
    mean = image[::8, ::8].mean()
    found = min(known, key=lambda one: abs(one[0] - mean))[1]
    return np.resize(found, image.shape)


@caught("an output that is not finite is wrong")
def nan_output(image):
    """Returns what is not a number, which many comparisons let pass."""
    return np.full(image.shape, np.nan, np.float32)


@caught("the result of another input is a wrong output")
def previous_output(image, done=[], threads=[]):
    """Returns the result of the last call while a thread works on this one."""
    for thread in threads:
        thread.join()
    threads.clear()
    copy = image.copy()
    if not done:
        done.append(honest.sharpen(copy))
    last = done[0]

    def work():
        done[0] = honest.sharpen(copy)

    threads.append(threading.Thread(target=work))
    threads[0].start()
    return last


@caught("processes below it are looked for after the calls")
def process_left_running(image, started=[]):
    """Starts a process that disturbs whoever is measured next."""
    if not started:
        code = (
            "import time\nend = time.time() + 60\nwhile time.time() < end: pass"
        )
        started.append(subprocess.Popen([sys.executable, "-c", code]))
    return honest.sharpen(image)


@caught("wrong outputs, whatever memory they take")
def repeated_pixel(image):
    """Returns one pixel as a view of the size of an image."""
    return np.broadcast_to(image[:1, :1], image.shape)


@caught("every timed input is new: wrong outputs")
def replay_after_warm_up(image, last=[]):
    """Works while it is warmed up, and repeats its last result later."""
    if len(last) < 20:
        last.append(honest.sharpen(image))
    return last[-1]


@caught("what is expected is in another process, and made later")
def result_searched(image):
    """Looks for the expected output in the memory of its process."""
    for one in gc.get_objects():
        if isinstance(one, tuple) and len(one) == 2:
            for part in one:
                if isinstance(part, np.ndarray) and part.shape == image.shape:
                    return part
    return np.zeros_like(image)


@caught("wrong outputs")
def returned_input(image):
    """Returns its input, of which the result is only slightly different."""
    return image


@harmless("what the process prints is not a record")
def rows_printed(image):
    """Prints rows of its own, with a speed that it likes."""
    row = {"schema": 1, "record": "row", "status": "ok", "throughput": 1e9}
    for stream in (sys.stdout, sys.stderr):
        print(json.dumps(row), file=stream, flush=True)
    return honest.sharpen(image)


@caught("a random part of the timed calls is checked")
def skipped_by_hash(image):
    """Leaves out the inputs whose sum is even."""
    if int(image.sum()) % 2 == 0:
        return np.full_like(image, 128)
    return honest.sharpen(image)


@caught("a random part of the timed calls is checked")
def skipped_calls(image):
    """Leaves out one call in four, at random."""
    return (
        image
        if random.SystemRandom().random() < 0.25
        else honest.sharpen(image)
    )


@harmless("the number of calls and of checks is the runner's")
def slow_warm_up(image, calls=[0]):
    """Is slow in the warm-up, so that fewer calls are timed."""
    calls[0] += 1
    if calls[0] < 20:
        time.sleep(0.02)
    return honest.sharpen(image)


def _work_for_ever():
    while True:
        sum(range(1000))


@caught("its processor time counts while nothing is asked of it")
def thread_between_calls(image, threads=[]):
    """A thread goes on working between calls."""
    if not threads:
        threads.append(threading.Thread(target=_work_for_ever, daemon=True))
        threads[0].start()
    return honest.sharpen(image)


@caught("the reference works in another process: wrong outputs")
def uninitialized_output(image):
    """Returns memory as it comes, which may hold somebody's right result."""
    return np.empty_like(image)


def _patch_answers(kind, last):
    call = kind._call

    def answer(self, command):
        if not last:
            last.append(call(self, command)["output"])
        return {"nonce": command["nonce"], "output": last[0]}

    kind._call = answer


@caught("the worker's word does not count, and the old bytes are wrong outputs")
def worker_patched(image, last=[]):
    """Replaces the worker's own answer to a call: it does nothing any more."""
    for one in _ours("Child"):
        if hasattr(one, "_call"):
            _patch_answers(type(one), last)
    return honest.sharpen(image)
