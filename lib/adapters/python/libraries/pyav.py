"""PyAV, FFmpeg's libraries in Python: decodes from the beginning and converts
what is wanted."""

import av
import clips
import numpy as np
from operation import Operation

_threads = 1


def version():
    return av.__version__


def use_threads(policy):
    global _threads
    _threads = policy.get("decode", {}).get("threads", 1)


def threads():
    return _threads or 1


def make_decoder(command):
    threads = command["decode"]["threads"]

    def call(item):
        path, numbers = item
        with av.open(path) as video:
            stream = video.streams.video[0]
            if threads:
                stream.codec_context.thread_count = threads
            else:
                stream.thread_type = "AUTO"
            return np.stack(clips.pick(_frames(video, stream), numbers))

    return Operation(call)


def _frames(video, stream):
    for frame in video.decode(stream):
        yield lambda frame=frame: frame.to_ndarray(format="rgb24")


def array_of(output):
    return output, "THWC"
