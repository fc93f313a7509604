"""Clips decoded by DALI, one per call: takes the bytes of a file and returns
the frames of its clip in order.

The graph is built once and kept, and with it the sessions of NVDEC.
"""

import math

import numpy as np
from nvidia.dali import Pipeline, fn, types
from operation import Operation


def operation(on_gpu):
    return Operation(Decoder(on_gpu))


class Frames:
    """The result of a call: frames where they were decoded."""

    def __init__(self, batch):
        self._batch = batch

    @property
    def nbytes(self):
        return math.prod(self._batch.shape()[0])

    def array(self):
        """A copy on the host, F, H, W, C."""
        (clip,) = np.asarray(self._batch.as_cpu().as_tensor())
        return clip


class Decoder:
    """On the GPU, or by DALI's decoder for the CPU, which tests use: it
    supports only VP8, VP9 and MJPEG."""

    def __init__(self, on_gpu):
        self._on_gpu = on_gpu
        self._pipeline = self._build()

    def __call__(self, item):
        path, numbers = item
        encoded = np.fromfile(path, np.uint8)
        if encoded.size == 0:
            raise ValueError(f"{path}: is empty")
        if self._pipeline is None:
            self._pipeline = self._build()
        try:
            # Without a stream to wait on, it waits for the frames itself.
            (batch,) = self._pipeline.run(
                encoded=[encoded], frames=[np.array(numbers, np.int32)]
            )
        except RuntimeError as error:
            # A graph in which something failed is not to be used again.
            self._pipeline = None
            raise ValueError(f"{path}: {_reason(error)}") from error
        return Frames(batch)

    def _build(self):
        pipeline = Pipeline(
            batch_size=1,
            num_threads=1,
            device_id=0 if self._on_gpu else None,
            # What is fed to a run is what the run gives back.
            prefetch_queue_depth=1,
        )
        with pipeline:
            encoded = fn.external_source(
                name="encoded", dtype=types.UINT8, ndim=1
            )
            frames = fn.external_source(
                name="frames", dtype=types.INT32, ndim=1
            )
            pipeline.set_outputs(
                fn.decoders.video(
                    encoded,
                    device="mixed" if self._on_gpu else "cpu",
                    frames=frames,
                    # Else its one thread would be tied to the first core.
                    affine=False,
                    # A frame that is not there is an error, not a black one.
                    pad_mode="none",
                )
            )
        pipeline.build()
        return pipeline


def _reason(error):
    """The message in DALI's output: what follows `encountered:`."""
    _, _, told = str(error).partition("encountered:")
    lines = (told or str(error)).strip().splitlines()
    return lines[0] if lines else "DALI does not say why"
