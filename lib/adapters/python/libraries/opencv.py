"""OpenCV as a decoder: VideoCapture, one frame after the other."""

import clips
import cv2
import numpy as np
from operation import Operation


def version():
    return cv2.__version__


def use_threads(policy):
    if policy.get("opencv_threads") is not None:
        cv2.setNumThreads(policy["opencv_threads"])
    if not policy.get("opencv_opencl", False):
        cv2.ocl.setUseOpenCL(False)


def threads():
    return cv2.getNumThreads()


def make_decoder(command):
    threads = command["decode"]["threads"]
    options = [cv2.CAP_PROP_N_THREADS, threads] if threads else []

    def call(item):
        path, numbers = item
        video = cv2.VideoCapture(path, cv2.CAP_FFMPEG, options)
        if not video.isOpened():
            raise ValueError(f"{path}: cannot be opened")
        # Pixels as they are stored, like every other decoder.
        video.set(cv2.CAP_PROP_ORIENTATION_AUTO, 0)
        try:
            return np.stack(clips.pick(_frames(video), numbers))
        finally:
            video.release()

    return Operation(call)


def _frames(video):
    """Grabs each frame, which decodes it, and converts it when called. Seeking
    to each frame would be slower, and not always exact."""

    def retrieve():
        decoded, frame = video.retrieve()
        if not decoded:
            raise ValueError("a frame could not be decoded")
        return cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)

    while video.grab():
        yield retrieve


def array_of(output):
    return output, "THWC"
